/**
 * What a client says of itself beside the call: the session and the agent that Claude Code and Codex name in headers of
 * their own. Hints for the ledger and nothing else: the run token is the authority, and these are anybody's text, so
 * they are short and printable, or left out.
 */
import type { RawHeaders } from '../act/headers.ts';

export interface ClientHints {
  readonly clientSession: string | null;
  readonly clientAgent: string | null;
  readonly clientParentAgent: string | null;
}

export function readClientHints(headers: RawHeaders): ClientHints {
  const found = new Map<string, string>();
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = (headers[i] ?? '').toLowerCase();
    if (HINT_HEADERS.has(name) && !found.has(name)) found.set(name, headers[i + 1] ?? '');
  }
  if (found.size === 0) return NO_HINTS;
  const hint = (name: string): string | null => readHint(found.get(name));
  const turn = readTurn(found.get('x-codex-turn-metadata'));
  const of = (name: string): string | null => readHint(turn[name]);
  return {
    clientSession: hint('x-claude-code-session-id') ?? hint('session-id') ?? of('session_id'),
    clientAgent: hint('x-claude-code-agent-id') ?? of('agent_name') ?? hint('thread-id') ?? of('thread_id'),
    clientParentAgent:
      hint('x-claude-code-parent-agent-id') ?? hint('x-codex-parent-thread-id') ?? of('parent_thread_id'),
  };
}

/** Codex tells its session, thread, turn and agent as JSON in one header. */
function readTurn(text: string | undefined): Readonly<Record<string, unknown>> {
  if (text === undefined || text.length > MAX_TURN_CHARS) return {};
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

function readHint(value: unknown): string | null {
  return typeof value === 'string' && HINT.test(value) ? value : null;
}

const HINT_HEADERS: ReadonlySet<string> = new Set([
  'x-claude-code-session-id',
  'x-claude-code-agent-id',
  'x-claude-code-parent-agent-id',
  'session-id',
  'thread-id',
  'x-codex-parent-thread-id',
  'x-codex-turn-metadata',
]);
const NO_HINTS: ClientHints = { clientSession: null, clientAgent: null, clientParentAgent: null };
/** ASCII that prints. */
const HINT = /^[!-~](?:[ -~]{0,126}[!-~])?$/;
const MAX_TURN_CHARS = 4_096;
