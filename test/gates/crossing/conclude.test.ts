/** What is kept of a run that has ended: every way in which it can. */
import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../../core-lite/record/crossing.ts';
import { type Conclusion, concludeRun, type EndedRun } from '../../../gates/crossing/conclude.ts';

const DONE: Outcome = { status: 'completed', code: null, body: '{"ok":true}' };
const LOST: Outcome = { status: 'uncertain', code: 'http.lost', body: '{"ok":false}' };
const UNREACHABLE: Outcome = { status: 'failed', code: 'http.unreachable', body: '{}', unsent: true };
const REFUSED: Outcome = { status: 'completed', code: 'http.credential', body: '{}' };

const kept = (outcome: Outcome): Conclusion => ({ settle: outcome });
const bare = (status: string, code: string) => ({ settle: expect.objectContaining({ status, code }) });

describe('a run that ended', () => {
  it.each<[name: string, run: Partial<EndedRun>, conclusion: unknown]>([
    ['with an answer', { outcome: DONE, sent: true }, kept(DONE)],
    ['with an answer, stopped meanwhile', { outcome: DONE, sent: true, stopped: 'cancelled' }, kept(DONE)],
    ['lost', { outcome: LOST, sent: true }, kept(LOST)],
    [
      'lost, and cancelled',
      { outcome: LOST, sent: true, stopped: 'cancelled' },
      bare('cancelled', 'tool.cancelled'),
    ],
    [
      'cancelled with its turn',
      { outcome: LOST, sent: true, stopped: 'ended' },
      bare('cancelled', 'tool.cancelled'),
    ],
    [
      'with its key revoked',
      { outcome: LOST, sent: true, stopped: 'token_untrusted' },
      bare('cancelled', 'tool.cancelled'),
    ],
    [
      'cancelled before it was sent',
      { outcome: LOST, stopped: 'cancelled' },
      bare('cancelled', 'tool.cancelled'),
    ],
    [
      'with its gate',
      { outcome: LOST, sent: true, stopped: 'shutting_down' },
      bare('uncertain', 'http.lost'),
    ],
    [
      'of mcp, with its gate',
      { kind: 'mcp', sent: true, stopped: 'shutting_down' },
      bare('uncertain', 'tool.uncertain'),
    ],
    [
      'with its gate, before it was sent',
      { outcome: LOST, stopped: 'shutting_down' },
      { release: 'tool.interrupted', answer: null },
    ],
    ['in a fault', { sent: true }, bare('uncertain', 'http.lost')],
    ['in a fault, before it was sent', {}, { release: 'tool.interrupted', answer: null }],
    ['refused before it was sent', { outcome: REFUSED }, { release: 'http.credential', answer: REFUSED }],
    [
      'reaching nothing',
      { outcome: UNREACHABLE, sent: true },
      { release: 'http.unreachable', answer: UNREACHABLE },
    ],
    [
      'reaching nothing, and cancelled',
      { outcome: UNREACHABLE, sent: true, stopped: 'cancelled' },
      bare('cancelled', 'tool.cancelled'),
    ],
    [
      'with an answer that was never sent for',
      { outcome: DONE },
      { release: 'tool.interrupted', answer: DONE },
    ],
  ])('%s', (_, run, conclusion) => {
    const ended: EndedRun = { kind: 'http', outcome: null, sent: false, stopped: null, ...run };
    expect(concludeRun(ended)).toEqual(conclusion);
  });
});
