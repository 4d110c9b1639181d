/**
 * What a server may ask of a client: what the manifest lets it, whatever the client could do. It is told of no other
 * capability, and what it asks for all the same is refused in its era's manner.
 */
import type { McpServer } from '../../../core-lite/state/manifest/mcp-server.ts';
import { type Answer, isJsonObject, type JsonObject, RPC } from '../messages.ts';
import { type Failed, fail } from '../upstream/failures.ts';
import type { Asked, ClientFacts, Era, Way } from '../upstream/server.ts';

/** A client's capabilities at most. */
export type Rights = JsonObject;

export function mostOf({ sampling, elicitation, roots }: McpServer['allow']): Rights {
  return {
    ...(sampling ? { sampling: {} } : {}),
    ...(elicitation ? { elicitation: {} } : {}),
    ...(roots ? { roots: { listChanged: true } } : {}),
  };
}

/** A legacy server's session is one for all clients of the session, so it is told what they can do at most. */
export function restrictAsked(asked: Asked, rights: Rights, era: Era): Asked {
  const { client } = asked.meta;
  const capabilities = era === 'legacy' ? rights : restrict(client.capabilities, rights);
  return { ...asked, meta: { ...asked.meta, client: { ...client, capabilities } } };
}

export function ourselves(rights: Rights): ClientFacts {
  return { info: null, capabilities: rights };
}

export function restrictWay(way: Way, rights: Rights): Way {
  return {
    ...way,
    onRequest: async (request, signal) =>
      isAllowed(request.method, rights)
        ? way.onRequest(request, signal)
        : { error: { code: RPC.methodNotFound, message: `Method not found: ${request.method}` } },
  };
}

/** A modern server's questions that nobody may be asked; `null` where there is nothing to say against them. */
export function judgeInput(answer: Answer | Failed, rights: Rights): Failed | null {
  if (!('result' in answer) || answer.result['resultType'] !== 'input_required') return null;
  const { inputRequests } = answer.result;
  if (!isJsonObject(inputRequests)) return null;
  const refused = Object.values(inputRequests).some(
    (request) => !isJsonObject(request) || !isAllowed(String(request['method']), rights),
  );
  return refused ? fail('malformed', true, 'it asks the client for what the session does not let it') : null;
}

function restrict(capabilities: JsonObject, rights: Rights): JsonObject {
  return Object.fromEntries(
    Object.entries(capabilities).filter(([name]) => !ASKED_OF_CLIENTS.has(name) || name in rights),
  );
}

/** `ping` asks for nothing. */
function isAllowed(method: string, rights: Rights): boolean {
  const needed = Object.hasOwn(CAPABILITY_OF, method) ? CAPABILITY_OF[method] : undefined;
  return needed === undefined ? method === 'ping' : needed in rights;
}

const CAPABILITY_OF: Readonly<Record<string, string>> = {
  'sampling/createMessage': 'sampling',
  'elicitation/create': 'elicitation',
  'roots/list': 'roots',
};
const ASKED_OF_CLIENTS: ReadonlySet<string> = new Set(Object.values(CAPABILITY_OF));
