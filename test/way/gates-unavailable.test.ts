/** What the gates answer when something that they need is away, wrong or about to end. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openLog } from '../../core-lite/log.ts';
import { mintToken } from '../../core-lite/tokens/mint.ts';
import { loadSigningKey } from '../../core-lite/tokens/signing-keys.ts';
import { openClassKey } from '../../core-lite/vault/class-keys.ts';
import { startGates } from '../../gates/main.ts';
import { putModel, startTestGates, type TestGates, type TestRun } from '../support/gates.ts';
import { type Provider, startProvider } from '../support/provider.ts';

const KEY = 'sk-canary-away-0b7e';
let provider: Provider;
let impostor: Provider;
let plain: Provider;
let gates: TestGates;
let run: TestRun;

beforeAll(async () => {
  provider = await startProvider('provider.test');
  impostor = await startProvider('impostor.test');
  plain = await startProvider('plain.test', { plain: true });
  // The certificate of the impostor is of a CA that nobody trusts.
  gates = await startTestGates([provider, { ...impostor, caPem: '' }, plain], {
    SALLYPORT_OPEN_NETWORKS: 'provider.test=127.0.0.0/8,impostor.test=127.0.0.0/8,plain.test=127.0.0.0/8',
    SALLYPORT_DNS_SERVERS: '127.0.0.1:9',
  });
  const { world } = gates;
  const at = (name: string, baseUrl: string) =>
    world.call('PUT', `/v1/models/${name}`, { baseUrl, dialects: ['openai', 'anthropic'] });
  await putModel(gates, 'good', provider, { key: KEY });
  await at('impostor', `https://impostor.test:${impostor.port}`);
  await at('nowhere', 'https://nowhere.test');
  run = await gates.run();
});
afterAll(async () => {
  await gates?.close();
  for (const each of [provider, impostor, plain]) await each?.close();
});

const call = (model: string, token = run.token) =>
  gates.ask('/v1/messages', {
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: 'x' }] }),
  });

describe('the gates', () => {
  it('never talk to a provider whose certificate they cannot verify', async () => {
    const reply = await call('impostor');
    expect([reply.status, reply.headers['sallyport-reason']]).toEqual([502, 'provider_certificate']);
    expect(impostor.asked.length).toBe(0);
  });

  it('say that a name does not resolve', async () => {
    const reply = await call('nowhere');
    expect([reply.status, reply.headers['sallyport-reason']]).toEqual([502, 'resolve_failed']);
  });

  it('refuse a model whose credential is gone, whoever took it away', async () => {
    await putModel(gates, 'orphan', provider, { key: KEY });
    const removing = gates.world.call('DELETE', '/v1/vaults/test/credentials/orphan');
    await expect(removing).rejects.toThrow(/409.*orphan/);
    await gates.owner.query(`DELETE FROM credentials WHERE name = 'orphan'`);
    const reply = await until(
      () => call('orphan'),
      ({ status }) => status === 403,
    );
    expect(reply.headers['sallyport-reason']).toBe('credential_missing');
  });

  it('refuse a token that has expired', async () => {
    const [tenant] = await gates.owner.query<{ id: string }>('SELECT id FROM tenant');
    const signing = await openClassKey(gates.owner, gates.world.config, 'signing');
    const key = await loadSigningKey(gates.owner, signing);
    const claims = { sub: run.session, trn: run.turn, agt: 'tester', epc: 1 };
    const old = await mintToken('run', claims, key, tenant?.id ?? '', new Date(Date.now() - 16 * 60_000));
    const reply = await call('good', old.token.reveal());
    expect([reply.status, reply.headers['sallyport-reason']]).toEqual([401, 'token_expired']);
  });

  it('use a rotated key, a moved model and a removed one with the next call', async () => {
    provider.behave = (_asked, response) => void response.end('{}');
    await gates.world.call('POST', '/v1/vaults/test/credentials/good/rotate', {
      secret: { value: `${KEY}-2` },
    });
    await until(
      () => call('good'),
      () => provider.asked.at(-1)?.headers['x-api-key'] === `${KEY}-2`,
    );
    await gates.world.call('DELETE', '/v1/models/good');
    const reply = await until(
      () => call('good'),
      ({ status }) => status === 404,
    );
    expect(reply.headers['sallyport-reason']).toBe('model_unknown');
    await putModel(gates, 'good', provider, { key: `${KEY}-2` });
    await until(
      () => call('good'),
      ({ status }) => status === 200,
    );
  });

  it('say that they cannot tell where the state of a run cannot be read, and let nothing through', async () => {
    const before = provider.asked.length;
    const mine = await gates.run();
    await gates.owner.query('REVOKE SELECT ON sessions FROM sallyport_gates');
    const reply = await call('good', mine.token);
    await gates.owner.query('GRANT SELECT ON sessions TO sallyport_gates');
    expect([reply.status, reply.headers['sallyport-reason']]).toEqual([503, 'facts_unavailable']);
    expect(reply.headers['x-should-retry']).toBeUndefined();
    expect(provider.asked.length).toBe(before);
  });

  it('end a stream that says nothing for too long, and its provider’s call', async () => {
    const hasty = await gates.world.gates({ SALLYPORT_STREAM_IDLE: '150ms' });
    const closed = Promise.withResolvers<void>();
    provider.behave = (_asked, response, socket) => {
      socket.once('close', () => closed.resolve());
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    };
    const answer = await fetch(`http://127.0.0.1:${hasty.address.port}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${run.token}`, 'content-type': 'application/json' },
      body: '{"model":"good","stream":true}',
    });
    expect(await answer.text()).toContain('"code":"provider_timeout"');
    await closed.promise;
  });

  it('end their streams with an error when they are shut down, and lose no row of the ledger', async () => {
    // Closed by the test itself, so it is none of the world's.
    const second = await startGates(gates.world.config, openLog('gates', 'error'));
    provider.behave = (_asked, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('event: message_start\ndata: {"message":{"usage":{"input_tokens":8}}}\n\n');
    };
    const mine = await gates.run();
    const answer = await fetch(`http://127.0.0.1:${second.address.port}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': mine.token, 'content-type': 'application/json' },
      body: '{"model":"good","stream":true}',
    });
    const closing = second.close();
    expect(await answer.text()).toContain('"code":"shutting_down"');
    await closing;
    expect(await gates.usage(mine, 1)).toMatchObject([{ outcome: 'shutting_down', input_tokens: '8' }]);
  });
});

/** The first answer that will do; a change is known within a second. */
async function until<T>(ask: () => Promise<T>, enough: (answer: T) => boolean): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    const answer = await ask();
    if (enough(answer)) return answer;
    if (tries > 200) throw new Error('it never came to be');
  }
}
