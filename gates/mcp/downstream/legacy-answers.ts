/** What a server asks of a legacy client: it goes out on the stream of the request that it belongs to, and its answer comes as a message of its own. */
import { type Answer, RPC, type RpcResponse } from '../messages.ts';
import type { ServerRequest } from '../upstream/server.ts';
import type { Sink } from './exchange.ts';
import { makeAskId, readAnswer } from './legacy-letters.ts';
import { nameId, type Remembered } from './legacy-memory.ts';
import { CANCELLED } from './names.ts';
import type { NamedSession } from './session-id.ts';

export interface Asking {
  /** This gate's name. */
  readonly replica: string;
  readonly session: NamedSession;
  readonly memory: Remembered;
  readonly exchange: Sink;
}

/** @param signal aborted when nobody waits for the answer any more */
export function askClient(
  { replica, session, memory, exchange }: Asking,
  { method, params }: ServerRequest,
  signal: AbortSignal,
): Promise<Answer> {
  const needed = Object.hasOwn(NEEDED, method) ? NEEDED[method] : undefined;
  if (needed !== undefined && session.clientCapabilities[needed] === undefined) {
    return Promise.resolve(failed(RPC.methodNotFound, `the client cannot be asked for ${method}`));
  }
  if (signal.aborted) return Promise.resolve(GONE);
  const id = makeAskId(replica);
  return new Promise((resolve) => {
    const settle = (answer: Answer): void => {
      memory.asked.delete(nameId(id));
      signal.removeEventListener('abort', takeBack);
      resolve(answer);
    };
    const takeBack = (): void => {
      exchange.send({ jsonrpc: '2.0', method: CANCELLED, params: { requestId: id } });
      settle(GONE);
    };
    memory.asked.set(nameId(id), settle);
    signal.addEventListener('abort', takeBack, { once: true });
    exchange.send({ jsonrpc: '2.0', id, method, params });
  });
}

/** @returns whether somebody waited for it */
export function takeAnswer(memory: Remembered, response: RpcResponse): boolean {
  const settle = memory.asked.get(nameId(response.id));
  if (!settle) return false;
  settle(readAnswer(response));
  return true;
}

function failed(code: number, message: string): Answer {
  return { error: { code, message } };
}

const GONE = failed(RPC.internal, 'the client did not answer');
const NEEDED: Readonly<Record<string, string>> = {
  'sampling/createMessage': 'sampling',
  'elicitation/create': 'elicitation',
  'roots/list': 'roots',
};
