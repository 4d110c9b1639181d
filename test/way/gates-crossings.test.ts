/** Keyed tool calls through two real gates: one effect for each key, whoever asks, leaves, resets or cancels. */
import { createServer } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type CrossedGates, eventually, startCrossedGates } from '../support/crossed-gates.ts';
import type { Reply, TestRun } from '../support/gates.ts';
import type { Asked } from '../support/provider.ts';

let stand: CrossedGates;
let run: TestRun;
beforeAll(async () => {
  stand = await startCrossedGates({ SALLYPORT_LOG_LEVEL: 'info' });
  run = await stand.run();
});
afterAll(() => stand?.close());
afterEach(() => {
  stand.tool.asked.length = 0;
  stand.tool.behave = (_asked, response) => void response.end('{}');
});

let keys = 0;
const freshKey = (): string => {
  keys += 1;
  return `key-${keys}`;
};
const codeOf = ({ text }: Reply): unknown => JSON.parse(text).error?.code;
/** A busy machine's database may be too slow for one of many: its caller is told to send again, and does. */
const untilTold = async (send: () => Promise<Reply>): Promise<Reply> => {
  let reply = await send();
  for (let tries = 0; reply.status === 503 && tries < 20; tries += 1) reply = await send();
  return reply;
};
const answerWhen = (gone: Promise<unknown>): void => {
  stand.tool.behave = (asked: Asked, response) => {
    void gone.then(() => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ said: JSON.parse(asked.body.toString()) }));
    });
  };
};

describe('the same key', () => {
  it('runs once for twenty callers at once on two gates, and tells all the same', async () => {
    const key = freshKey();
    const go = Promise.withResolvers<void>();
    answerWhen(go.promise);
    const asked = Array.from({ length: 20 }, (_, i) =>
      untilTold(() => stand.call(run, key, { port: stand.ports[i % 2 === 0 ? 0 : 1] })),
    );
    await eventually(() => stand.count(1) > 0);
    go.resolve();
    const replies = await Promise.all(asked);
    expect(new Set(replies.map(({ status, text }) => `${status} ${text}`))).toEqual(
      new Set(['200 {"ok":true,"output":{"said":{"n":1}}}']),
    );
    expect(stand.count(1)).toBe(1);
    const later = await stand.call(run, key, { port: stand.ports[1] });
    expect(later.text).toBe(replies[0]?.text);
    expect(stand.count(1)).toBe(1);
  });

  it('takes the same request however it is written, and no other', async () => {
    const key = freshKey();
    const first = await stand.call(run, key, { body: '{"input":{"n":1,"text":"é","deep":{"b":1,"a":[2]}}}' });
    const same = await stand.call(run, key, {
      body: '{ "input": {"deep":{"a":[2.0],"b":1},"text":"\\u00e9","n":1} }',
      port: stand.ports[1],
    });
    expect(same.text).toBe(first.text);
    for (const other of [{ n: 2 }, { tool: 'hasty' }]) {
      const refused = await stand.call(run, key, other);
      expect([refused.status, codeOf(refused)]).toEqual([409, 'gate_conflict']);
      expect(refused.headers['x-should-retry']).toBe('false');
    }
    expect(stand.tool.asked).toHaveLength(1);
  });

  it('of another session is another call, and tells nothing of the first', async () => {
    const key = freshKey();
    const [mine, theirs] = [await stand.run(), await stand.run()];
    await stand.call(mine, key);
    expect((await stand.call(theirs, key, { n: 2 })).status).toBe(200);
    const foreign = await stand.cancel(theirs, `${key}-of-nobody`);
    expect([foreign.status, codeOf(foreign)]).toEqual([404, 'call_unknown']);
    expect([stand.count(1), stand.count(2)]).toEqual([1, 1]);
  });

  it('gives nothing after a day, and does not run again', async () => {
    const key = freshKey();
    await stand.call(run, key);
    await stand.gates.owner.query(
      `UPDATE crossings SET settled_at = settled_at - interval '25 hours' WHERE key = $1`,
      [key],
    );
    const expired = await stand.call(run, key);
    expect([expired.status, codeOf(expired)]).toEqual([409, 'outcome_expired']);
    expect(stand.count(1)).toBe(1);
  });

  it.each([
    ['empty', ''],
    ['with a blank', 'a b'],
    ['too long', 'k'.repeat(256)],
    ['past ASCII', 'k\u00ff'],
  ])('is refused %s', async (_, key) => {
    const refused = await stand.call(run, key);
    expect([refused.status, codeOf(refused)]).toEqual([400, 'key_malformed']);
    expect(stand.tool.asked).toHaveLength(0);
  });

  it.each(['__proto__', 'constructor', "x'OR'1'='1", '../../etc/passwd', '%00', '*', 'k'.repeat(255)])(
    'may be %s',
    async (key) => {
      expect((await stand.call(run, key)).status).toBe(200);
      expect((await stand.call(run, key)).status).toBe(200);
      expect(stand.count(1)).toBe(1);
      const cancelled = await stand.cancel(run, key);
      expect(JSON.parse(cancelled.text)).toEqual({ ok: true, result: { status: 'completed' } });
    },
  );
});

describe('a keyed call', () => {
  it('outlives its caller, its turn and its lease; the next turn gets what it gave', async () => {
    const own = await stand.run();
    const key = freshKey();
    const go = Promise.withResolvers<void>();
    answerWhen(go.promise);
    const leave = new AbortController();
    const left = stand.call(own, key, { leave: leave.signal }).catch((error: Error) => error.name);
    const stale = stand.call(own, key, { port: stand.ports[1] });
    await eventually(() => stand.count(1) > 0);
    leave.abort();
    expect(await left).toBe('AbortError');
    const { world } = stand.gates;
    const { leaseEpoch } = await world.call<{ leaseEpoch: number }>('GET', `/v1/turns/${own.turn}`);
    await world.call('POST', `/v1/turns/${own.turn}/end`, { leaseEpoch });
    expect(codeOf(await stale)).toBe('run_stale');
    expect((await stand.listed(own)).map(({ status }) => status)).toEqual(['invoking']);
    go.resolve();
    await eventually(async () => (await stand.listed(own))[0]?.status === 'completed');
    expect((await stand.call(own, key)).status).toBe(409);
    const turn = await world.call<{ id: string }>('POST', `/v1/sessions/${own.session}/turns`);
    const { runToken: token } = await world.call<{ runToken: string }>('POST', `/v1/turns/${turn.id}/lease`, {
      holder: 'next',
    });
    const next = await stand.call({ ...own, token }, key, { port: stand.ports[1] });
    expect(JSON.parse(next.text)).toEqual({ ok: true, output: { said: { n: 1 } } });
    expect(stand.count(1)).toBe(1);
  });

  it('that was reset when it may have run is uncertain, and never sent again', async () => {
    const own = await stand.run();
    const key = freshKey();
    stand.tool.behave = (_asked, _response, socket) => socket.destroy();
    const lost = await stand.call(own, key);
    expect([lost.status, codeOf(lost)]).toEqual([200, 'http.lost']);
    expect((await stand.call(own, key, { port: stand.ports[1] })).text).toBe(lost.text);
    expect(stand.count(1)).toBe(1);
    expect(await stand.listed(own)).toMatchObject([{ status: 'uncertain', code: 'http.lost' }]);
  });

  it('that was not answered in time is uncertain too', async () => {
    const key = freshKey();
    stand.tool.behave = () => {};
    const late = await stand.call(run, key, { tool: 'hasty' });
    expect(codeOf(late)).toBe('http.timeout');
    expect((await stand.call(run, key, { tool: 'hasty' })).text).toBe(late.text);
    expect(stand.count(1)).toBe(1);
  });

  it('that the tool refused is completed, and so is an answer that is none', async () => {
    const own = await stand.run();
    stand.tool.behave = (_asked, response) => void response.writeHead(500).end('sorry');
    const refused = await stand.call(own, 'refused');
    expect((await stand.call(own, 'refused')).text).toBe(refused.text);
    stand.tool.behave = (_asked, response) => void response.writeHead(302, { location: '/' }).end();
    await stand.call(own, 'redirected');
    expect(stand.tool.asked).toHaveLength(2);
    expect((await stand.listed(own)).map(({ status, code }) => [status, code])).toEqual([
      ['completed', 'http.status'],
      ['completed', 'http.refused'],
    ]);
  });

  it('that reached nothing may be tried again with its key', async () => {
    const own = await stand.run();
    const refused = await stand.call(own, 'again', { tool: 'away' });
    expect(codeOf(refused)).toBe('http.unreachable');
    expect(await stand.listed(own)).toMatchObject([
      { status: 'failed', code: 'http.unreachable', durationMs: null },
    ]);
    const back = createServer((_request, response) => {
      response.setHeader('content-type', 'application/json');
      response.end('{}');
    });
    await new Promise<void>((resolve) => back.listen(stand.away.port, '127.0.0.1', resolve));
    const other = await stand.call(own, 'again', { tool: 'away', n: 2 });
    const reply = await stand.call(own, 'again', { tool: 'away', port: stand.ports[1] });
    back.close();
    expect(codeOf(other)).toBe('gate_conflict');
    expect(reply.text).toBe('{"ok":true,"output":{}}');
    expect(await stand.listed(own)).toMatchObject([{ status: 'completed', code: null, resultBytes: 23 }]);
  });

  it('is listed with what it was and never what was said', async () => {
    const own = await stand.run();
    stand.tool.behave = (_asked, response) => void response.end('"an-answer-of-the-tool"');
    await stand.call(own, 'listed', { body: '{"input":{"n":1,"said":"a-word-of-the-input"}}' });
    const listed = await stand.listed(own);
    expect(listed).toMatchObject([
      { key: 'listed', kind: 'http', tool: 'post', server: null, turnId: own.turn, status: 'completed' },
    ]);
    expect(JSON.stringify(listed) + stand.gates.world.logged()).not.toMatch(/a-word-of-the|an-answer-of/);
  });
});

describe('a cancel', () => {
  it('ends the call on another gate within a second, and for good', async () => {
    const key = freshKey();
    stand.tool.behave = () => {};
    const asked = stand.call(run, key);
    await eventually(() => stand.count(1) > 0);
    const began = performance.now();
    const cancelled = await stand.cancel(run, key, stand.ports[1]);
    expect(JSON.parse(cancelled.text)).toEqual({ ok: true, result: { status: 'cancelled' } });
    expect(codeOf(await asked)).toBe('tool.cancelled');
    expect(performance.now() - began).toBeLessThan(1_500);
    await eventually(() => stand.tool.open === 0);
    expect(codeOf(await stand.call(run, key))).toBe('tool.cancelled');
    expect(stand.count(1)).toBe(1);
  });

  it('of its turn ends the call; its session keeps what stands', async () => {
    const own = await stand.run();
    stand.tool.behave = () => {};
    const asked = stand.call(own, 'of-a-turn');
    await eventually(() => stand.count(1) > 0);
    await stand.gates.world.call('POST', `/v1/turns/${own.turn}/cancel`);
    expect(codeOf(await asked)).toBe('run_stale');
    await eventually(async () => (await stand.listed(own))[0]?.status === 'cancelled');
    await eventually(() => stand.tool.open === 0);
  });

  it('needs a live run', async () => {
    const own = await stand.run();
    await stand.gates.world.call('POST', `/v1/sessions/${own.session}/end`);
    expect(codeOf(await stand.cancel(own, 'any'))).toBe('run_stale');
    expect((await stand.cancel({ ...own, token: 'x.y.z' }, 'any')).status).toBe(401);
  });
});

it('a gate that is shut down leaves what it had sent uncertain, and lets nobody run it', async () => {
  const own = await stand.run();
  const third = await stand.gates.world.gates();
  stand.tool.behave = () => {};
  const asked = stand.call(own, 'shut', { port: third.address.port }).catch((error: Error) => error);
  await eventually(() => stand.count(1) > 0);
  await third.close();
  await asked;
  expect(codeOf(await stand.call(own, 'shut'))).toBe('http.lost');
  expect(stand.count(1)).toBe(1);
});

it('many calls that nobody waits for are refused before they fill the gate', async () => {
  const own = await stand.run();
  stand.tool.behave = () => {};
  const go = new AbortController();
  const codes: unknown[] = [];
  const asked = Array.from({ length: 140 }, async (_, i) => {
    codes.push(await stand.call(own, `flood-${i}`, { leave: go.signal }).then(codeOf, () => 'left'));
  });
  await eventually(() => codes.length > 5 && stand.count(1) > 100);
  go.abort();
  await Promise.all(asked);
  expect(codes.filter((code) => code === 'run_busy').length).toBeGreaterThan(5);
  expect(codes.filter((code) => code === 'left').length).toBeGreaterThan(100);
  await stand.gates.world.call('POST', `/v1/turns/${own.turn}/cancel`);
  await eventually(async () => (await stand.listed(own)).every(({ status }) => status !== 'invoking'));
});

it('the key that signed its run’s token is revoked: the call ends, on every gate', async () => {
  const own = await stand.run();
  stand.tool.behave = () => {};
  const asked = stand.call(own, 'signed', { port: stand.ports[1] });
  await eventually(() => stand.count(1) > 0);
  const { world } = stand.gates;
  const keys = await world.call<{ kid: string; state: string }[]>('GET', '/v1/signing-keys');
  await world.call('POST', '/v1/signing-keys/rotate');
  for (const { kid } of keys) await world.call('POST', `/v1/signing-keys/${kid}/revoke`);
  expect(codeOf(await asked)).toBe('token_untrusted');
  await eventually(async () => (await stand.listed(own))[0]?.status === 'cancelled');
  expect(stand.tool.open).toBe(0);
});
