/**
 * The state that a client carries from one round of a request to the next. What it brings back is anybody's word, so
 * what leaves is sealed: for its session, its path and its very request. A server's own state travels inside: the server
 * knows only the gate's credential, and could not tell one session's state from another's.
 */
import { hash } from 'node:crypto';
import { Secret } from '../../../core-lite/secret.ts';
import type { SealKey } from '../../../core-lite/vault/seal.ts';
import type { JsonObject } from '../messages.ts';
import type { Asked } from '../upstream/server.ts';

export type RequestState =
  /** The server's own. */
  | { readonly kind: 'theirs'; readonly state: string }
  /** A call of a legacy server that waits at a gate. */
  | { readonly kind: 'held'; readonly id: string; readonly replica: string };

export interface StateOf {
  /** Of the run's session. */
  readonly session: string;
  readonly server: string | null;
  readonly asked: Asked;
}

export function sealState(key: SealKey, of: StateOf, state: RequestState): string {
  return key.seal(new Secret(JSON.stringify(state)), place(of)).toString('base64url');
}

/** `null` for what was not sealed here, for this very request. */
export function openState(key: SealKey, of: StateOf, text: unknown): RequestState | null {
  if (typeof text !== 'string' || text.length > MAX_LENGTH) return null;
  try {
    return JSON.parse(key.open(Buffer.from(text, 'base64url'), place(of)).reveal()) as RequestState;
  } catch {
    return null;
  }
}

/** Its parameters without what belongs to a round. */
function withoutRound(params: JsonObject): JsonObject {
  const { inputResponses: _responses, requestState: _state, ...rest } = params;
  return rest;
}

function place({ session, server, asked }: StateOf): string {
  const request = hash('sha256', canonical([asked.method, withoutRound(asked.params)]), 'base64url');
  return `mcp request ${session} ${server === null ? 'merged' : `server ${server}`} ${request}`;
}

/** The same text for the same JSON, whatever the order of its fields. Its depth is bounded where it was read. */
function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([name, each]) => `${JSON.stringify(name)}:${canonical(each)}`).join(',')}}`;
}

const MAX_LENGTH = 1024 * 1024;
