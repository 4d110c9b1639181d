/** A fault in the middle of a call’s way: the caller is told, what was reserved is settled, nothing looks whole. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { ECHO_MODEL } from '../../core-lite/state/model.ts';
import { BodyRoom } from '../../gates/body-room.ts';
import { OPERATIONS } from '../../gates/dialects/operations.ts';
import type { Gate } from '../../gates/gate.ts';
import { handleModelCall, type ModelArrival } from '../../gates/handle-model-call.ts';

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

const SESSION = {
  id: 'ses_1',
  ended: false,
  leaseEpoch: 1,
  activeTurn: 'trn_1',
  user: null,
  manifest: { models: null, mcpServers: {}, httpTools: {} },
};

/** A gate whose start throws, after it did something to the response. */
function faultyGate(outcomes: string[], before: () => void): Gate {
  const call = { token: { claims: { sub: 'ses_1', trn: 'trn_1', epc: 1 } }, at: new Date(), stopped: null };
  const gate = {
    calls: { begin: () => call, end: () => outcomes.push('ended') },
    facts: {
      session: async () => SESSION,
      settings: async () => ({ fixtureModel: null }),
      model: async () => ECHO_MODEL,
    },
    starter: {
      start: async () => {
        before();
        throw new Error('a fault');
      },
    },
    record: {
      failure: () => void outcomes.push('fault'),
      refusal: (reason: string) => outcomes.push(`uncounted ${reason}`),
      modelCall: (_call: unknown, _names: unknown, { outcome }: { outcome: string }) =>
        outcomes.push(outcome),
    },
    now: () => new Date(),
  };
  return gate as unknown as Gate;
}

const arrival = {
  operation: OPERATIONS.chat,
  pathModel: null,
  token: {},
  tokenText: 'x',
  source: '',
  headers: [],
  userAgent: '',
  encoding: '',
  query: '',
  body: Buffer.from('{"model":"fixture/echo","messages":[{"role":"user","content":"x"}]}'),
  maxBytes: 1000,
  hold: new BodyRoom().open('ses_1'),
} as unknown as ModelArrival;

async function ask(outcomes: string[], partly: boolean): Promise<Response> {
  server = createServer((_request, response) => {
    const gate = faultyGate(outcomes, () => {
      if (partly) response.write('in part');
    });
    void handleModelCall(gate, { ...arrival }, response);
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  return fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
}

describe('a fault behind the decision', () => {
  it('is an answer and a row', async () => {
    const outcomes: string[] = [];
    const answer = await ask(outcomes, false);
    expect([answer.status, answer.headers.get('sallyport-reason')]).toEqual([500, 'internal']);
    expect(outcomes).toEqual(['fault', 'internal', 'ended']);
  });

  it('breaks off what went out in part', async () => {
    const outcomes: string[] = [];
    const whole = ask(outcomes, true).then((answer) => answer.text());
    await expect(whole).rejects.toThrow();
    expect(outcomes).toEqual(['fault', 'internal', 'ended']);
  });
});
