/** Which legacy session a request names, or the answer that it names none of ours. */
import type { ServerResponse } from 'node:http';
import type { RefusalReason } from '../../reasons.ts';
import type { Arrival, Downstream } from './context.ts';
import { tellRefusal } from './errors.ts';
import { readHeader } from './head.ts';
import { sendJson } from './json-answer.ts';
import { LEGACY_VERSIONS } from './names.ts';
import { type NamedSession, openSession } from './session-id.ts';

/** `null`: it has been answered. Never rejects. */
export async function findSession(
  { gate, seal, memory }: Downstream,
  { token, server, headers, source, userAgent }: Arrival,
  response: ServerResponse,
): Promise<NamedSession | null> {
  const refuse = (refusal: RefusalReason): null => {
    gate.record.refusal(refusal, source);
    const { error, status, headers: head } = tellRefusal({ refusal }, userAgent);
    sendJson(response, status, error, head);
    return null;
  };
  const id = readHeader(headers, 'mcp-session-id');
  if (id === undefined) return refuse('mcp_session_missing');
  const version = readHeader(headers, 'mcp-protocol-version');
  if (version !== undefined && !LEGACY_VERSIONS.some((each) => each === version)) {
    return refuse('mcp_version_unknown');
  }
  const session = openSession(seal, id, { session: token.claims.sub, server });
  if (!session) return refuse('mcp_session_unknown');
  const held = await memory.load(session.key).catch(gate.record.failure);
  if (!held) return refuse('facts_unavailable');
  return held.settings?.ended ? refuse('mcp_session_unknown') : session;
}
