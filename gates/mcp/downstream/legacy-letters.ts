/**
 * A client's answer, or its taking back of a request, that came to a gate where nobody waits for it: it is told to the
 * gate which the request runs at. The id of what was asked names that gate; of a client's own request nobody knows it.
 */
import { randomBytes } from 'node:crypto';
import { ALL_GATES, type Letter, type Letters } from '../letters.ts';
import { type Answer, isJsonObject, type RequestId, type RpcResponse } from '../messages.ts';
import { type LegacyMemory, nameId } from './legacy-memory.ts';
import type { RemoteRounds } from './remote-rounds.ts';

/** Of a question to a client. */
export function makeAskId(replica: string): string {
  return `ask.${replica}.${randomBytes(12).toString('base64url')}`;
}

export function readAnswer(response: RpcResponse): Answer {
  if ('error' in response) return { error: response.error };
  return { result: isJsonObject(response.result) ? response.result : {} };
}

/** @param session the key of the client's session */
export async function forwardAnswer(
  letters: Letters,
  replica: string,
  session: string,
  response: RpcResponse,
): Promise<void> {
  const [, to] = typeof response.id === 'string' ? response.id.split('.') : [];
  if (to === undefined || to === replica) return;
  await letters.send(to, { kind: 'answer', session, id: response.id, answer: readAnswer(response) });
}

export async function forwardCancel(letters: Letters, session: string, id: RequestId): Promise<void> {
  await letters.send(ALL_GATES, { kind: 'cancel', session, id });
}

/** Rejects with Fault `database_unreachable`. */
export async function takeLetter(memory: LegacyMemory, rounds: RemoteRounds, letter: Letter): Promise<void> {
  if ('round' in letter) return rounds.receive(letter);
  const held = memory.peek(letter.session);
  switch (letter.kind) {
    case 'cancel':
      held?.running.get(nameId(letter.id))?.();
      break;
    case 'answer':
      held?.asked.get(nameId(letter.id))?.(letter.answer);
      break;
    case 'changed':
      await memory.refresh(letter.session);
      break;
    default:
      letter satisfies never;
  }
}
