/**
 * A modern client's request, in rounds where the server wants to know something: its answer is then the question, with
 * a state, and the client asks again with the state and what it found out. A modern server asks so by itself; for a
 * legacy server, which asks in the middle of a call, the call waits meanwhile.
 */
import type { Call } from '../../calls.ts';
import { type Answer, isJsonObject, type JsonObject, RPC } from '../messages.ts';
import type { Asked, ServerRequest, Way } from '../upstream/server.ts';
import type { McpPeer, PeerOutcome } from '../way.ts';
import { progressFor, type ReadRequest } from './asked.ts';
import type { Arrival, Downstream } from './context.ts';
import { tellUnanswered } from './errors.ts';
import { HeldCall, type HeldTurn, type Listener } from './held-calls.ts';
import { hearsLog } from './log-level.ts';
import { type ModernServing, tell, tellServerError } from './modern-answer.ts';
import { LOG_MESSAGE } from './names.ts';
import { openState, type StateOf, sealState } from './request-state.ts';
import { toModern } from './translate.ts';

export async function runModernRequest(
  down: Downstream,
  arrival: Arrival,
  peer: McpPeer,
  serving: ModernServing,
  read: ReadRequest,
): Promise<void> {
  const { exchange, request } = serving;
  const of: StateOf = { session: arrival.token.claims.sub, server: arrival.server, asked: read.asked };
  const turn = await takeRound(down, peer, serving, of, read);
  if (typeof turn === 'string') {
    const error = { code: RPC.invalidParams, message: turn };
    return tell(exchange, request.id, { error, status: 200, headers: {} });
  }
  if ('outcome' in turn) return answer(down, arrival, peer, serving, of, turn.outcome);
  const { id, replica } = turn;
  const requestState = sealState(down.seal, of, { kind: 'held', id, replica });
  const inputRequests = askInput(turn.questions);
  const question = { resultType: 'input_required', inputRequests, requestState };
  exchange.finish({ jsonrpc: '2.0', id: request.id, result: toModern(request.method, question, peer.about) });
}

/** What came of the round, and where its call waits if it does. Else what is wrong with the round. */
type RoundTurn = HeldTurn & { readonly replica: string };

async function takeRound(
  down: Downstream,
  peer: McpPeer,
  serving: ModernServing,
  of: StateOf,
  read: ReadRequest,
): Promise<RoundTurn | string> {
  const { asked } = read;
  const { requestState, inputResponses } = asked.params;
  const answers = isJsonObject(inputResponses) ? inputResponses : {};
  const listener = listen(serving, read);
  if (requestState === undefined) return follow(down, serving, begin(peer, serving, asked, listener));
  const state = openState(down.seal, of, requestState);
  if (!state) return 'requestState is not what was given out for this request';
  if (state.kind === 'theirs') {
    const theirs = { ...asked, params: { ...asked.params, requestState: state.state } };
    return follow(down, serving, begin(peer, serving, theirs, listener));
  }
  if (state.replica !== down.replica) {
    const turn = await down.rounds.ask(state.replica, state.id, answers, serving.call.signal);
    return turn ? { ...turn, replica: state.replica } : NOT_WAITING;
  }
  const held = down.held.take(state.id);
  if (!held) return NOT_WAITING;
  held.listener = listener;
  held.answer(answers);
  return follow(down, serving, held);
}

/** Until its client leaves. */
async function follow(down: Downstream, { call }: ModernServing, held: HeldCall): Promise<RoundTurn> {
  const leave = (): void => held.cancel();
  call.signal.addEventListener('abort', leave, { once: true });
  if (call.signal.aborted) leave();
  try {
    return { ...(await down.held.next(held)), replica: down.replica };
  } finally {
    call.signal.removeEventListener('abort', leave);
  }
}

function begin(peer: McpPeer, serving: ModernServing, asked: Asked, listener: Listener): HeldCall {
  const held = new HeldCall(listener);
  const { call, keep, end } = serving;
  // It may wait for another round than this one's; its own end lets go of it.
  keep.held = true;
  const outcome = peer.request(asked, wayOf(held, call, asked)).finally(end);
  held.begin(outcome);
  return held;
}

function wayOf(held: HeldCall, call: Call, asked: Asked): Way {
  return {
    signal: AbortSignal.any([call.signal, held.signal]),
    onProgress: (params) => held.listener.progress(params),
    onLog: (params) => held.listener.log(params),
    onRequest: async (question, signal = held.signal) =>
      refuseQuestion(held, question, asked) ?? held.ask(question, signal),
  };
}

/**
 * A legacy server was told what its session's clients can do at most; this one can do less, and in its era what needs
 * more than it can has failed with that.
 */
function refuseQuestion(held: HeldCall, { method }: ServerRequest, { meta }: Asked): Answer | null {
  const needed = Object.hasOwn(NEEDED, method) ? NEEDED[method] : undefined;
  if (needed === undefined) {
    return { error: { code: RPC.methodNotFound, message: `the client cannot be asked for ${method}` } };
  }
  if (meta.client.capabilities[needed] !== undefined) return null;
  const message = `the server asks for ${method}, and the client did not declare ${needed}`;
  const data = { requiredCapabilities: { [needed]: {} } };
  held.settle({ error: { code: RPC.missingCapability, message, data } });
  return { error: { code: RPC.methodNotFound, message } };
}

function listen({ exchange }: ModernServing, { asked, progressToken }: ReadRequest): Listener {
  const { logLevel } = asked.meta;
  return {
    progress: (params) => {
      if (progressToken !== null) exchange.send(progressFor(progressToken, params));
    },
    log: (params) => {
      if (hearsLog(logLevel, params)) exchange.send({ jsonrpc: '2.0', method: LOG_MESSAGE, params });
    },
  };
}

function answer(
  down: Downstream,
  arrival: Arrival,
  peer: McpPeer,
  { exchange, request }: ModernServing,
  of: StateOf,
  outcome: PeerOutcome,
): void {
  if ('failure' in outcome || 'refusal' in outcome) {
    tell(exchange, request.id, tellUnanswered(outcome, arrival.userAgent));
  } else if ('error' in outcome) tellServerError(exchange, request, outcome.error);
  else {
    const result = toModern(request.method, sealed(down, of, outcome.result), peer.about);
    exchange.finish({ jsonrpc: '2.0', id: request.id, result });
  }
}

/** A question of a modern server, with its state sealed. */
function sealed(down: Downstream, of: StateOf, result: JsonObject): JsonObject {
  const { resultType, requestState } = result;
  if (resultType !== 'input_required' || typeof requestState !== 'string') return result;
  return { ...result, requestState: sealState(down.seal, of, { kind: 'theirs', state: requestState }) };
}

function askInput(questions: Readonly<Record<string, ServerRequest>>): JsonObject {
  return Object.fromEntries(
    Object.entries(questions).map(([key, { method, params }]) => [
      key,
      { method, params: withoutMeta(params) },
    ]),
  );
}

function withoutMeta({ _meta, ...params }: JsonObject): JsonObject {
  return params;
}

const NOT_WAITING = 'the call does not wait any more; ask anew, without requestState';
const NEEDED: Readonly<Record<string, string>> = {
  'sampling/createMessage': 'sampling',
  'elicitation/create': 'elicitation',
  'roots/list': 'roots',
};
