/** `model`, `usage` and `gates`, as a user types them. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formatAddress, type Service } from '../../core-lite/service.ts';
import { type DnsServer, startDnsServer } from '../support/dns-server.ts';
import { startWorld, type World } from '../support/world.ts';
import { sallyport, settingsOf } from './sallyport.ts';

let names: DnsServer;
let world: World;
let gates: Service;
let variables: Record<string, string>;

beforeAll(async () => {
  names = await startDnsServer({ localhost: { a: ['127.0.0.1'] } });
  world = await startWorld({
    SALLYPORT_DNS_SERVERS: names.address,
    SALLYPORT_OPEN_NETWORKS: 'localhost=127.0.0.0/8',
  });
  gates = await world.gates();
  variables = { ...settingsOf(world), SALLYPORT_GATES_LISTEN: formatAddress(gates.address) };
  await world.call('PUT', '/v1/vaults/team');
  await world.call('PUT', '/v1/vaults/team/credentials/key', {
    kind: 'model_key',
    hosts: ['api.test'],
    secret: { value: 'sk-canary-of-the-cli' },
  });
});
afterAll(async () => {
  await world?.close();
  await names?.close();
});

const type = (...words: string[]) => sallyport(words, { variables });

describe('model', () => {
  it('puts, lists and removes', async () => {
    const url = ['--url', 'https://api.test/v1'];
    const put = await type('model', 'put', 'a/b', ...url, '--dialect', 'openai', '--credential', 'team/key');
    expect([put.status, put.out]).toEqual([0, ['model a/b is at https://api.test/v1']]);
    const list = await type('model', 'list');
    const all = 'openai responses embeddings anthropic gemini';
    expect(list.out.map((line) => line.split(/ {2,}/))).toEqual([
      ['NAME', 'PROVIDER', 'DIALECTS', 'URL', 'UPSTREAM NAME', 'CREDENTIAL', 'FALLBACKS'],
      ...['echo', 'tools', 'slow'].map((name) => {
        const model = `fixture/${name}`;
        return [model, 'fixture', all, 'built in', model, '-', '-'];
      }),
      ['a/b', 'custom', 'openai', 'https://api.test/v1', 'a/b', 'team/key', '-'],
    ]);
    expect((await type('model', 'rm', 'a/b')).out).toEqual(['model a/b is deleted']);
  });

  it('puts one of a provider, with fallbacks', async () => {
    const key = ['--credential', 'team/key'];
    await type('model', 'put', 'spare', '--provider', 'groq', ...key);
    const more = ['--upstream-name', 'gpt-5', '--max-tokens', '4096', '--fallback', 'spare'];
    const put = await type('model', 'put', 'main', '--provider', 'openai', ...key, ...more);
    expect([put.out, put.err]).toEqual([
      ['model main is at https://api.openai.com'],
      ['warning: its calls will be refused: the hosts of team/key do not name api.openai.com'],
    ]);
    const [main] = JSON.parse((await type('model', 'list', '--json')).out.join('\n')).filter(
      (model: { name: string }) => model.name === 'main',
    );
    expect(main).toMatchObject({
      provider: 'openai',
      dialects: ['openai', 'responses'],
      upstreamName: 'gpt-5',
      credential: 'team/key',
      defaultMaxTokens: 4096,
      fallbacks: ['spare'],
    });
  });

  it('warns of a URL with an operation, and of models that lose a fallback', async () => {
    const url = ['--url', 'https://api.test/v1/chat/completions', '--dialect', 'openai'];
    expect((await type('model', 'put', 'whole', ...url)).err).toEqual([
      'warning: the URL ends in /chat/completions, which calls add to it once more: leave it out',
    ]);
    const fall = ['--url', 'https://api.test', '--dialect', 'openai', '--fallback', 'whole'];
    expect((await type('model', 'put', 'leaning', ...fall)).err).toEqual([]);
    const gone = await type('model', 'rm', 'whole');
    expect([gone.status, gone.err]).toEqual([0, ['warning: leaning falls back on whole no more']]);
    expect((await type('model', 'rm', 'leaning')).err).toEqual([]);
  });

  it('says what is missing or wrong', async () => {
    expect((await type('model', 'put', 'x')).err.join()).toContain('needs --url');
    expect((await type('model', 'put', 'x', '--provider', 'azure')).err.join()).toContain('needs --url');
    const url = ['--url', 'https://api.test'];
    expect((await type('model', 'put', 'x', ...url)).err.join()).toContain('needs --dialect');
    const none = await type('model', 'put', 'x', '--provider', 'opnai');
    expect(none.err.join()).toContain('did you mean openai?');
    const few = await type('model', 'put', 'x', '--provider', 'openai', '--max-tokens', '1.5');
    expect(few.err.join()).toContain('--max-tokens is a whole number from 1 to 999999999');
    const unspoken = await type('model', 'put', 'x', '--provider', 'openai', '--dialect', 'gemini');
    expect(unspoken.err.join()).toContain('does not speak gemini');
    const wrong = await type('model', 'put', 'x', '--url', 'https://10.0.0.1', '--dialect', 'openai');
    expect([wrong.status, wrong.err.join()]).toEqual([1, expect.stringContaining('IP address')]);
  });

  it('tests one in each dialect, on the way that agents take', async () => {
    const test = ['model', 'test', 'fixture/echo', '--text', 'hello there'];
    const tested = await type(...test, '--dialect', 'anthropic', '--dialect', 'openai');
    const line = (dialect: string) =>
      expect.stringMatching(`^${dialect}: 200 after \\d+ms \\(2 tokens in, 2 out.*\\): hello there$`);
    expect([tested.status, tested.out]).toEqual([0, [line('openai'), line('anthropic')]]);
    const lost = await type('model', 'test', 'fixture/echo', '--gates', 'http://127.0.0.1:9');
    expect([lost.status, lost.err.join()]).toEqual([1, expect.stringContaining('cannot be reached')]);
  });

  it('says when a fixture answers in place of the provider', async () => {
    await type('model', 'put', 'real', '--provider', 'openai', '--url', 'https://nowhere.test');
    await type('tenant', 'set', '--fixture-model', 'fixture/echo');
    const test = ['model', 'test', 'real', '--dialect', 'openai', '--text', 'you'];
    const told = await type(...test);
    const printed = await type(...test, '--json');
    const own = await type('model', 'test', 'fixture/echo', '--dialect', 'openai', '--text', 'you');
    await type('tenant', 'set', '--fixture-model', 'none');
    expect(told.err).toEqual([
      expect.stringMatching(/^note: fixture\/echo answers in place of real, whose provider is not called/),
    ]);
    const line = /^openai: 200 after \S+ by fixture\/echo \(1 tokens in, 1 out, \$0\): you$/;
    expect(told.out).toEqual([expect.stringMatching(line)]);
    expect([printed.status, printed.err]).toEqual([0, []]);
    const used = { inputTokens: 1, outputTokens: 1, costUsd: 0 };
    const asked = { model: 'real', dialect: 'openai', ok: true, status: 200, reason: null };
    expect(JSON.parse(printed.out.join('\n'))).toEqual([
      { ...asked, ms: expect.any(Number), said: 'you', fixtureModel: 'fixture/echo', used },
    ]);
    expect([own.err, own.out.join()]).toEqual([[], expect.not.stringContaining('by fixture')]);
  });

  it('says that what answered has no price', async () => {
    const provider = createServer((_request, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(
        `{"choices":[{"message":{"content":"hi"}}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`,
      );
    });
    await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
    const { port } = provider.address() as AddressInfo;
    const at = ['--url', `http://localhost:${port}`, '--dialect', 'openai'];
    await type('model', 'put', 'own', ...at);
    const tested = await type('model', 'test', 'own');
    provider.close();
    expect(tested.out).toEqual([
      expect.stringMatching(/^openai: 200 after \S+ \(3 tokens in, 1 out, no price\): hi$/),
    ]);
  });

  it('prints a failed test as JSON, with the word', async () => {
    await type('model', 'put', 'none', '--provider', 'openai', '--url', 'https://nowhere.test');
    const tested = await type('model', 'test', 'none', '--dialect', 'openai', '--json');
    expect([tested.status, tested.err]).toEqual([1, []]);
    expect(JSON.parse(tested.out.join('\n'))).toMatchObject([
      { ok: false, status: 502, reason: 'resolve_failed', fixtureModel: null, used: null },
    ]);
  });

  it('says of each dialect how its test failed', async () => {
    await type('model', 'put', 'none', '--provider', 'openai', '--url', 'https://nowhere.test');
    const tested = await type('model', 'test', 'none');
    expect([tested.status, tested.out]).toEqual([1, []]);
    expect(tested.err).toEqual([
      expect.stringMatching(
        /^openai: 502 resolve_failed after .*: the provider’s host name could not be resolved/,
      ),
      expect.stringMatching(
        /^responses: 502 resolve_failed after .*: the provider’s host name could not be resolved/,
      ),
    ]);
  });
});

describe('tenant', () => {
  it('shows and sets the fixture model', async () => {
    expect((await type('tenant', 'show')).out).toEqual(['fixture-model none: each model is called']);
    const set = await type('tenant', 'set', '--fixture-model', 'fixture/slow');
    expect(set.out).toEqual(['fixture-model fixture/slow: every call is answered from it']);
    expect((await type('tenant', 'show', '--json')).out.join('')).toContain('"fixtureModel": "fixture/slow"');
    await type('tenant', 'set', '--fixture-model', 'none');
    expect((await type('tenant', 'show')).out).toEqual(['fixture-model none: each model is called']);
    expect((await type('tenant', 'set')).err.join()).toContain('needs --fixture-model');
    expect((await type('tenant', 'set', '--fixture-model', 'gpt-5')).err.join()).toContain('is one of');
  });
});

describe('usage', () => {
  it('shows what that used', async () => {
    for (let tries = 0; tries < 100; tries += 1) {
      const used = await type('usage', '--by', 'model', '--since', '1h');
      if (used.out.length > 1) {
        expect(used.out[1]?.split(/ +/).slice(0, 8)).toEqual([
          'fixture/echo',
          '3',
          '0',
          '0',
          '5',
          '0',
          '5',
          '0',
        ]);
        return;
      }
    }
    throw new Error('the ledger stayed empty');
  });

  it('shows each call, and what of it is asked for', async () => {
    const [head, line] = (await type('usage', '--calls', '--model', 'fixture/echo')).out;
    expect(head?.split(/ {2,}/)).toContain('CLIENT AGENT');
    expect(line?.split(/ +/).slice(3, 10)).toEqual([
      'fixture/echo',
      'fixture',
      'completed',
      '2',
      '-',
      '2',
      '0.000000',
    ]);
    expect((await type('usage', '--calls', '--agent', 'nobody')).out).toEqual([
      expect.stringContaining('OUTCOME'),
    ]);
    const listed = await type('usage', '--calls', '--model', 'fixture/echo', '--limit', '1', '--json');
    expect(JSON.parse(listed.out.join(''))).toMatchObject([
      { provider: 'fixture', costUsd: 0, presumed: false },
    ]);
  });

  it('takes no options that do not go together', async () => {
    expect((await type('usage', '--calls', '--by', 'day')).err.join()).toContain('--by does not go with it');
    expect((await type('usage', '--limit', '5')).err.join()).toContain('--limit goes with --calls');
    expect((await type('usage', '--calls', '--limit', '0')).err.join()).toContain('--limit is not a number');
  });
});
