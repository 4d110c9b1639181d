/** What is kept of what clients say of themselves. */
import { describe, expect, it } from 'vitest';
import { readClientHints } from '../../../gates/read/client-hints.ts';

const turn = (value: unknown) => ['X-Codex-Turn-Metadata', JSON.stringify(value)];

const ROWS: readonly (readonly [
  name: string,
  headers: readonly string[],
  session: string | null,
  agent: string | null,
  parent: string | null,
])[] = [
  ['none', ['User-Agent', 'x', 'Accept', '*/*'], null, null, null],
  [
    'Claude Code',
    ['X-Claude-Code-Session-Id', 's1', 'x-claude-code-agent-id', 'a1', 'x-claude-code-parent-agent-id', 'p1'],
    's1',
    'a1',
    'p1',
  ],
  [
    'Codex',
    ['session-id', 's2', 'thread-id', 't2', ...turn({ session_id: 's9', agent_name: 'reviewer' })],
    's2',
    'reviewer',
    null,
  ],
  [
    'a thread of Codex',
    ['session-id', 's3', 'thread-id', 't3', 'x-codex-parent-thread-id', 'p3'],
    's3',
    't3',
    'p3',
  ],
  [
    'the turn of Codex alone',
    turn({ session_id: 's4', thread_id: 't4', parent_thread_id: 'p4' }),
    's4',
    't4',
    'p4',
  ],
  ['the first of two', ['session-id', 'one', 'Session-Id', 'two'], 'one', null, null],
  [
    'nothing that is long',
    ['session-id', 'x'.repeat(129), 'thread-id', 'y'.repeat(128)],
    null,
    'y'.repeat(128),
    null,
  ],
  ['nothing that does not print', ['session-id', 'a\tb', 'thread-id', 'caf\u00e9'], null, null, null],
  ['nothing that is empty', ['session-id', '', 'thread-id', ' '], null, null, null],
  ['no turn that is no JSON', ['x-codex-turn-metadata', '{"session_id":'], null, null, null],
  ['no turn that is no object', ['x-codex-turn-metadata', '"session_id"'], null, null, null],
  [
    'no field that is no text',
    turn({ session_id: 7, thread_id: { a: 1 }, agent_name: ['b'] }),
    null,
    null,
    null,
  ],
  ['no turn that is long', turn({ session_id: 's', pad: 'x'.repeat(5_000) }), null, null, null],
];

describe('hints of a client are', () => {
  for (const [name, headers, clientSession, clientAgent, clientParentAgent] of ROWS) {
    it(name, () =>
      expect(readClientHints(headers)).toEqual({ clientSession, clientAgent, clientParentAgent }),
    );
  }
});
