/** Bodies that a gate holds while their calls run: few large ones of one run, however small they come, and others go on. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
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
  }, 60_000);

  it('have room as they come: many heads take little, and a length beyond the limit is refused at once', async () => {
    provider.behave = (_asked, response) => void response.end('{"ok":1}');
    const runs = await Promise.all(Array.from({ length: 9 }, () => gates.run()));
    const coming = runs.flatMap((run) =>
      [`Content-Length: ${32 * MIB}`, 'Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'].map(
        (framing) => send(run, framing),
      ),
    );
    await Promise.all(coming.map(({ socket }) => once(socket, 'connect')));
    for (const run of runs) expect((await ask(run, '{"model":"m"}')).status).toBe(200);
    const [run] = runs as [TestRun];
    await expect.poll(send(run, `Content-Length: ${32 * MIB + 1}`).said).toContain('body_too_large');
    expect(coming.map(({ said }) => said())).toEqual(coming.map(() => ''));
    for (const { socket } of coming) socket.destroy();
  });

  it('come so many at once, however little of them came, and leave the others theirs', async () => {
    const [run, other] = [await gates.run(), await gates.run()];
    for (let round = 0; round < 2; round += 1) {
      const coming = Array.from({ length: 300 }, () => send(run, 'Transfer-Encoding: chunked', '1\r\n{\r\n'));
      const refused = () => coming.filter(({ said }) => said().includes('run_busy'));
      await expect.poll(refused, { timeout: 20_000 }).toHaveLength(44);
      expect(reasonOf(await ask(run, '{"model":"m"}'))).toEqual([429, 'run_busy']);
      expect((await ask(other, '{"model":"m"}')).status).toBe(200);
      const [first] = coming.filter(({ said }) => said() === '');
      first?.socket.write('c\r\n"model":"m"}\r\n0\r\n\r\n');
      await expect.poll(() => first?.said()).toContain('200 OK');
      expect((await ask(run, '{"model":"m"}')).status).toBe(200);
      for (const { socket } of coming) socket.destroy();
      // Those that leave at once, leave nothing behind.
      for (let i = 0; i < 300; i += 1) send(run, 'Transfer-Encoding: chunked').socket.end().destroySoon();
      await expect.poll(async () => (await ask(run, '{"model":"m"}')).status, { timeout: 20_000 }).toBe(200);
    }
  }, 60_000);

  it('have room until their callers leave', async () => {
    const run = await gates.run();
    const piece = `${MIB.toString(16)}\r\n${'a'.repeat(MIB)}\r\n`;
    const coming = Array.from({ length: 3 }, () => send(run, 'Transfer-Encoding: chunked'));
    for (const { socket } of coming) for (let i = 0; i < 22; i += 1) socket.write(piece);
    const refused = () => coming.filter(({ said }) => said().includes('run_busy'));
    await expect.poll(refused, { timeout: 20_000 }).toHaveLength(1);
    expect(reasonOf(await ask(run))).toEqual([429, 'run_busy']);
    for (const { socket } of coming) socket.destroy();
    await expect.poll(async () => (await ask(run)).status, { timeout: 20_000 }).toBe(200);
  });

  it('do not come in for a run that is over, nor any further when it ends', async () => {
    const run = await gates.run();
    const coming = send(run, 'Transfer-Encoding: chunked', '1\r\n{\r\n');
    // It has come to where it is read.
    expect((await ask(run, '{"model":"m"}')).status).toBe(200);
    await gates.world.call('POST', `/v1/sessions/${run.session}/end`);
    await expect.poll(coming.said).toContain('run_stale');
    await expect.poll(send(run, 'Transfer-Encoding: chunked').said).toContain('run_stale');
  });
});

interface Sender {
  readonly socket: Socket;
  /** What was answered so far. */
  readonly said: () => string;
}

function send({ token }: TestRun, framing: string, body = ''): Sender {
  const { host, port } = gates.gates.address;
  const head = `POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n`;
  let said = '';
  const socket = connect(port, host)
    .on('error', () => {})
    .on('data', (data) => {
      said += data;
    });
  socket.write(`${head}${framing}\r\n\r\n${body}`);
  return { socket, said: () => said };
}
