/**
 * A legacy client's request to a server that may be modern: such a server answers with a question instead of asking in
 * the middle of the call. The client is asked in its own era's manner, and the request is made again with its answers.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { type Answer, isJsonObject, type JsonObject, RPC } from '../messages.ts';
import type { Asked, Way } from '../upstream/server.ts';
import type { McpPeer, PeerOutcome } from '../way.ts';

export async function requestInRounds(peer: McpPeer, asked: Asked, way: Way): Promise<PeerOutcome> {
  let params = asked.params;
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const outcome = await peer.request({ ...asked, params }, way);
    if (!('result' in outcome) || outcome.result['resultType'] !== 'input_required') return outcome;
    const answers = await answerAll(outcome.result['inputRequests'], way);
    if ('error' in answers) return answers;
    const { requestState } = outcome.result;
    params = {
      ...asked.params,
      ...(answers.asked ? { inputResponses: answers.responses } : {}),
      ...(requestState === undefined ? {} : { requestState }),
    };
    // It only wants to be asked again.
    if (!answers.asked) await pause(PAUSE_MS, undefined, { signal: way.signal, ref: false }).catch(() => {});
  }
  return { error: { code: RPC.internal, message: 'the server asked the client too many times' } };
}

type Answers =
  | { readonly asked: boolean; readonly responses: JsonObject }
  | Extract<Answer, { readonly error: unknown }>;

async function answerAll(requests: unknown, way: Way): Promise<Answers> {
  const entries = isJsonObject(requests) ? Object.entries(requests) : [];
  const responses: (readonly [string, JsonObject])[] = [];
  for (const [key, request] of entries) {
    if (!isJsonObject(request) || typeof request['method'] !== 'string') {
      return { error: { code: RPC.internal, message: 'the server asked for what is not a request' } };
    }
    const params = isJsonObject(request['params']) ? request['params'] : {};
    const answer = await way.onRequest({ method: request['method'], params }, way.signal);
    if ('error' in answer) return answer;
    responses.push([key, answer.result]);
  }
  return { asked: entries.length > 0, responses: Object.fromEntries(responses) };
}

const MAX_ROUNDS = 32;
const PAUSE_MS = 1_000;
