/** Which legacy session a request names, or the answer that it names none of ours. */
import type { ServerResponse } from 'node:http';
import type { Arrival, Downstream } from './context.ts';
import { tellRefusal } from './errors.ts';
import { readHeader } from './head.ts';
import { sendJson } from './json-answer.ts';
import { LEGACY_VERSIONS } from './names.ts';
import { type NamedSession, openSession } from './session-id.ts';

/** `null`: it has been answered. */
export function findSession(
  { gate, seal, memory }: Downstream,
  { token, server, headers, source, userAgent }: Arrival,
  response: ServerResponse,
): NamedSession | null {
  const refuse = (refusal: 'mcp_session_missing' | 'mcp_session_unknown' | 'mcp_version_unknown'): null => {
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
  if (!session || memory.of(session.key).ended) return refuse('mcp_session_unknown');
  return session;
}
