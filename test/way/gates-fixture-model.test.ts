/** The tenant's fixture model: the gates answer every call from it, decided and metered, and follow a change at once. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { putModel, startTestGates, type TestGates, type TestRun } from '../support/gates.ts';
import { type Provider, startProvider } from '../support/provider.ts';

let provider: Provider;
let gates: TestGates;
let run: TestRun;

beforeAll(async () => {
  provider = await startProvider('provider.test');
  provider.behave = (_asked, response) =>
    void response.end('{"choices":[{"message":{"content":"provider"}}]}');
  gates = await startTestGates([provider]);
  await putModel(gates, 'real', provider, { dialects: ['openai'] });
  await gates.world.call('PUT', '/v1/models/keyless', {
    baseUrl: 'https://nowhere.test',
    dialects: ['openai'],
    fallbacks: ['real'],
  });
});
afterAll(async () => {
  await gates?.close();
  await provider?.close();
});

async function ask(model: string, path = '/v1/chat/completions'): Promise<{ status: number; said: unknown }> {
  const { status, text } = await gates.ask(path, {
    headers: { authorization: `Bearer ${run.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, max_tokens: 9, messages: [{ role: 'user', content: 'echo of me' }] }),
  });
  return { status, said: JSON.parse(text).choices?.[0]?.message?.content };
}

async function set(fixtureModel: string | null): Promise<void> {
  await gates.world.call('PATCH', '/v1/tenant/settings', { fixtureModel });
}

/** Asks until the answer is the expected one, within the second in which a replica follows. */
async function follows(model: string, said: string): Promise<void> {
  const until = Date.now() + 1_000;
  while ((await ask(model)).said !== said) if (Date.now() > until) throw new Error(`${said} is not said`);
}

it('answers the calls of every declared model, and no other', async () => {
  run = await gates.run();
  expect(await ask('real')).toEqual({ status: 200, said: 'provider' });
  await set('fixture/echo');
  await follows('real', 'echo of me');
  const reached = provider.asked.length;
  run = await gates.run({ models: ['real', 'keyless'] });
  expect(await ask('real')).toEqual({ status: 200, said: 'echo of me' });
  expect(await ask('keyless')).toEqual({ status: 200, said: 'echo of me' });
  expect((await ask('real', '/v1/messages')).status).toBe(400);
  expect((await ask('fixture/slow')).status).toBe(403);
  const [real, keyless] = await gates.usage(run, 2);
  expect(real).toMatchObject({
    model: 'real',
    provider: 'fixture',
    upstream_name: 'fixture/echo',
    outcome: 'completed',
  });
  expect(Number(real?.input_tokens)).toBeGreaterThan(0);
  expect(keyless).toMatchObject({ model: 'keyless', upstream_name: 'fixture/echo' });
  expect(provider.asked.length).toBe(reached);
  await set(null);
  await follows('real', 'provider');
});

it('one that this gate does not have ends every call: none reaches its provider', async () => {
  run = await gates.run();
  const { owner } = gates;
  await owner.query(`UPDATE tenant SET fixture_model = 'fixture/of-tomorrow'`);
  const until = Date.now() + 1_000;
  const refused = async () =>
    (
      await gates.ask('/v1/chat/completions', {
        headers: { authorization: `Bearer ${run.token}`, 'content-type': 'application/json' },
        body: '{"model":"real","messages":[]}',
      })
    ).headers['sallyport-reason'];
  while ((await refused()) !== 'facts_unavailable') if (Date.now() > until) throw new Error('it is answered');
  const reached = provider.asked.length;
  expect([await refused(), await refused()]).toEqual(['facts_unavailable', 'facts_unavailable']);
  expect(provider.asked.length).toBe(reached);
  await set(null);
  await follows('real', 'provider');
});
