/** Bodies that a gate holds while their calls run: few large ones of one run, however small they come, and others go on. */
import { connect } from 'node:net';
import { zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { putModel, type Reply, startTestGates, type TestGates, type TestRun } from '../support/gates.ts';
import { type Provider, startProvider } from '../support/provider.ts';

const MIB = 1024 * 1024;
const LARGE = zstdCompressSync(
  Buffer.concat([Buffer.from('{"model":"m","x":"'), Buffer.alloc(30 * MIB, 'a'), Buffer.from('"}')]),
);
let provider: Provider;
let gates: TestGates;
const held: (() => void)[] = [];

beforeAll(async () => {
  provider = await startProvider('room.test', { plain: true });
  gates = await startTestGates([provider]);
  await putModel(gates, 'm', provider, { dialects: ['openai'], upstreamName: 'real' });
  provider.behave = (_asked, response) => void held.push(() => response.end('{"ok":1}'));
}, 60_000);
afterAll(async () => {
  await gates?.close();
  await provider?.close();
});

function ask({ token }: TestRun, body: Buffer | string = LARGE): Promise<Reply> {
  const coded = typeof body === 'string' ? {} : { 'content-encoding': 'zstd' };
  return gates.ask('/v1/chat/completions', { headers: { authorization: `Bearer ${token}`, ...coded }, body });
}

const reasonOf = ({ status, headers }: Reply) => [status, headers['sallyport-reason']];

describe('the bodies of a run', () => {
  it('have room together, also those that are small before they are decoded', async () => {
    const run = await gates.run();
    const other = await gates.run();
    const first = [ask(run), ask(run)];
    await expect.poll(() => held.length, { timeout: 20_000 }).toBe(2);
    const refused = await ask(run);
    expect(reasonOf(refused)).toEqual([429, 'run_busy']);
    expect(refused.headers['x-should-retry']).toBeUndefined();
    const others = [ask(other), ask(run, '{"model":"m"}')];
    await expect.poll(() => held.length, { timeout: 20_000 }).toBe(4);
    for (const answer of held.splice(0)) answer();
    for (const reply of [...first, ...others]) expect((await reply).status).toBe(200);
    const again = ask(run);
    await expect.poll(() => held.length, { timeout: 20_000 }).toBe(1);
    for (const answer of held.splice(0)) answer();
    expect((await again).status).toBe(200);
  });

  it('have room before they have come, until their callers leave', async () => {
    const run = await gates.run();
    const { host, port } = gates.gates.address;
    const head = `POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${run.token}\r\n`;
    const coming = [`Content-Length: ${32 * MIB}`, 'Transfer-Encoding: chunked'].map((framing) => {
      const socket = connect(port, host).on('error', () => {});
      socket.write(`${head}${framing}\r\n\r\n`);
      return socket;
    });
    provider.behave = (_asked, response) => void response.end('{"ok":1}');
    await expect.poll(async () => reasonOf(await ask(run, '{"model":"m"}'))).toEqual([429, 'run_busy']);
    for (const socket of coming) socket.destroy();
    await expect.poll(async () => (await ask(run)).status, { timeout: 20_000 }).toBe(200);
  });
});
