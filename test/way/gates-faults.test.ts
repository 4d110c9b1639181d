/** A provider's odd head and a fault of our own, at gates with budgets: each call is answered, recorded and settled. */
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { SecretMask } from '../../gates/act/mask.ts';
import { BODY, type BudgetedGates, startBudgetedGates } from '../support/budgeted-gates.ts';
import type { Reply, TestRun } from '../support/gates.ts';

let stand: BudgetedGates;
beforeAll(async () => {
  stand = await startBudgetedGates();
}, 60_000);
afterEach(() => {
  vi.restoreAllMocks();
});
afterAll(() => stand?.close(), 60_000);

const ask = (run: TestRun, head: string): Promise<Reply> => {
  stand.provider.behave = (_asked, _response, socket) => socket.write(Buffer.from(head, 'latin1'));
  return stand.gates.ask('/v1/chat/completions', {
    headers: { authorization: `Bearer ${run.token}` },
    body: BODY,
  });
};

const HEADS = {
  'a phrase that is no text': 'HTTP/1.1 200 Caf\xe9\r\nContent-Length: 0\r\n\r\n',
  'a phrase that is no text, with a body': 'HTTP/1.1 200 Caf\xe9\r\nContent-Length: 2\r\n\r\n{}',
  'a coding that every object has':
    'HTTP/1.1 200 OK\r\nContent-Encoding: constructor\r\nContent-Length: 2\r\n\r\n{}',
};
for (const [name, head] of Object.entries(HEADS)) {
  it(`passes: ${name}`, async () => {
    const run = await stand.gates.run();
    expect(await ask(run, head)).toMatchObject({ status: 200, whole: true });
    expect(await stand.gates.usage(run, 1)).toMatchObject([{ outcome: 'completed', status: 200 }]);
    await stand.settled();
  });
}

it('answers, records and settles a call that a fault of ours ended', async () => {
  const run = await stand.gates.run();
  vi.spyOn(SecretMask.prototype, 'end').mockImplementation(() => {
    throw new Error('a fault of the test');
  });
  const reply = await ask(run, 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}');
  expect([reply.status, reply.headers['sallyport-reason']]).toEqual([500, 'internal']);
  expect(await stand.gates.usage(run, 1)).toMatchObject([{ outcome: 'internal' }]);
  await stand.settled();
});
