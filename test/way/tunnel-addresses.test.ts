/** Only what was resolved and judged is dialled: nothing for a denied host, never a refused address, and in time. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGate, type TestGate } from '../support/gate.ts';
import { echo, type Origin, startOrigin } from '../support/origin.ts';

// 127.0.0.2 and further are addresses of this machine on Linux only.
const hasManyLoopbacks = process.platform === 'linux';

let gate: TestGate;
let origin: Origin;
let inside: Origin;
let token: string;

beforeAll(async () => {
  origin = await startOrigin({ host: '127.0.0.1', behave: echo });
  inside = await startOrigin({
    host: hasManyLoopbacks ? '127.0.0.9' : '127.0.0.1',
    port: hasManyLoopbacks ? origin.port : 0,
  });
  gate = await startGate({
    dns: {
      'mixed.test': { a: ['127.0.0.9', '10.1.2.3', '127.0.0.1', '169.254.169.254'] },
      'inside.test': { a: ['127.0.0.9', '10.1.2.3'], aaaa: ['fd00::1', '::1'] },
      'turns.test': [
        { a: ['127.0.0.1'], ttl: 0 },
        { a: ['127.0.0.9'], ttl: 0 },
      ],
      'dead.test': { a: ['127.0.0.8', '127.0.0.1'] },
      'silent.test': { a: ['127.0.0.7', '127.0.0.1'] },
      'empty.test': 'nodata',
      'broken.test': 'servfail',
    },
    open: 'mixed.test=127.0.0.1/32,turns.test=127.0.0.1/32,dead.test=127.0.0.0/8,silent.test=127.0.0.0/8',
  });
  await gate.put('open', { allow: [`*.test:${origin.port}`] });
  token = await gate.world.token('open');
});

afterAll(async () => {
  await gate?.close();
  await Promise.all([origin?.close(), inside?.close()]);
});

/** Asks for a host; whether a byte came back, why not, and the row. */
async function ask(host: string) {
  const startedAt = performance.now();
  const client = await gate.connect(`${host}:${origin.port}`, token);
  const answer = await client.answer(15_000);
  const ms = performance.now() - startedAt;
  const echoed = answer.status === 200 ? await client.send('hello').text(5) : '';
  client.finish();
  const row = async () => {
    await expect.poll(async () => (await gate.rows(`&host=${host}`))[0]?.end ?? null).not.toBeNull();
    return (await gate.rows(`&host=${host}`))[0];
  };
  return { reason: answer.headers.get('sallyport-reason'), echoed, ms, row: await row() };
}

describe('a host that is denied', () => {
  it('is not looked up', async () => {
    const client = await gate.connect('mixed.example:443', token);
    expect((await client.answer()).headers.get('sallyport-reason')).toBe('host_denied');
    client.close();
    expect(gate.dns.lookups).toEqual([]);
  });
});

describe.runIf(hasManyLoopbacks)('of the addresses of a name', () => {
  it('only those that are allowed are dialled; all are recorded', async () => {
    const { echoed, row } = await ask('mixed.test');
    expect(echoed).toBe('hello');
    expect(row).toMatchObject({
      verdict: 'allowed',
      end: {
        address: '127.0.0.1',
        addresses: ['127.0.0.9', '10.1.2.3', '127.0.0.1', '169.254.169.254'],
        bytesUp: 5,
        bytesDown: 5,
      },
    });
    expect(inside.reached).toBe(0);
  });

  it('none is dialled where none is allowed', async () => {
    const { reason, row } = await ask('inside.test');
    expect(reason).toBe('address_refused');
    expect(row).toMatchObject({ verdict: 'denied', reason, end: { reason, address: null } });
    expect(row?.end?.addresses.toSorted()).toEqual(['10.1.2.3', '127.0.0.9', '::1', 'fd00::1']);
    expect(inside.reached).toBe(0);
  });

  it('those of a second look-up are judged again', async () => {
    expect((await ask('turns.test')).echoed).toBe('hello');
    expect((await ask('turns.test')).reason).toBe('address_refused');
    expect(inside.reached).toBe(0);
  });

  it('one that refuses is followed by the next', async () => {
    const { echoed, row, ms } = await ask('dead.test');
    expect(echoed).toBe('hello');
    expect(row?.end?.address).toBe('127.0.0.1');
    expect(ms).toBeLessThan(1_000);
  });

  it('one that is silent is followed by the next within a second', async () => {
    const silent = await startSilence('127.0.0.7', origin.port);
    try {
      const { echoed, row, ms } = await ask('silent.test');
      expect(echoed).toBe('hello');
      expect(row?.end?.address).toBe('127.0.0.1');
      expect(ms).toBeGreaterThan(200);
      expect(ms).toBeLessThan(1_500);
    } finally {
      silent.stop();
    }
  });
});

describe('a name', () => {
  it.each(['empty.test', 'broken.test', 'missing.test'])('that has no answer: %s', async (host) => {
    const { reason, row } = await ask(host);
    expect(reason).toBe('resolve_failed');
    expect(row).toMatchObject({ verdict: 'denied', reason, end: { reason, addresses: [], address: null } });
  });
});

/** A listener that stands still with a full backlog: who connects gets no answer, as from a host that is gone. */
async function startSilence(host: string, port: number): Promise<{ stop(): void }> {
  const program = `require('node:net').createServer().listen({host:'${host}',port:${port},backlog:1},()=>console.log('up'))`;
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const held: Socket[] = [];
  const stop = () => {
    child.kill('SIGKILL');
    for (const socket of held) socket.destroy();
  };
  try {
    await once(child.stdout, 'data');
    child.kill('SIGSTOP');
    for (let i = 0; i < 20; i += 1) {
      const socket = connect({ host, port }).on('error', () => {});
      held.push(socket);
      const answered = await Promise.race([
        once(socket, 'connect').then(() => true),
        once(AbortSignal.timeout(400), 'abort').then(() => false),
      ]);
      if (!answered) return { stop };
    }
    throw new Error('the backlog did not fill up');
  } catch (error) {
    stop();
    throw error;
  }
}
