import { expect, it } from 'vitest';
import { makeId } from '../../../core-lite/id.ts';
import { decideRunStaleness, decideTurnStaleness, type TurnFacts } from '../../../core-lite/state/session.ts';
import type { RunClaims } from '../../../core-lite/tokens/token-kinds.ts';

const session = makeId('ses');
const turn = makeId('trn');
const CLAIMS: RunClaims = { sub: session, trn: turn, agt: 'coder', epc: 3 };
const FACTS: TurnFacts = {
  id: session,
  environmentId: null,
  leaseEpoch: 3,
  activeTurn: turn,
  ended: false,
};

it.each<[name: string, claims: Partial<RunClaims>, facts: Partial<TurnFacts> | null, stale: boolean]>([
  ['the current run', {}, {}, false],
  ['an unleased turn’s, for debugging', { epc: 0 }, { leaseEpoch: 0 }, false],
  ['a session that is not there', {}, null, true],
  ['another session', { sub: makeId('ses') }, {}, true],
  ['an ended session', {}, { ended: true }, true],
  ['an ended session whose turn is still called active', {}, { ended: true, activeTurn: turn }, true],
  ['an older lease', { epc: 2 }, {}, true],
  ['a lease from the future', { epc: 4 }, {}, true],
  ['another turn', { trn: makeId('trn') }, {}, true],
  ['no active turn', {}, { activeTurn: null }, true],
  ['a newer turn at the same lease', {}, { activeTurn: makeId('trn') }, true],
])('a run token of %s', (_, claims, facts, stale) => {
  const decided = decideRunStaleness({ ...CLAIMS, ...claims }, facts && { ...FACTS, ...facts });
  expect(decided).toBe(stale ? 'run_stale' : null);
});

it.each<
  [name: string, claims: { ses?: string; trn?: string }, facts: Partial<TurnFacts> | null, stale: boolean]
>([
  ['the active turn', { ses: session, trn: turn }, {}, false],
  ['the active turn, under a newer lease', { ses: session, trn: turn }, { leaseEpoch: 9 }, false],
  ['no run', {}, null, false],
  ['a session that is not there', { ses: session, trn: turn }, null, true],
  ['another session', { ses: makeId('ses'), trn: turn }, {}, true],
  ['an ended session', { ses: session, trn: turn }, { ended: true }, true],
  ['another turn', { ses: session, trn: makeId('trn') }, {}, true],
  ['no active turn', { ses: session, trn: turn }, { activeTurn: null }, true],
  ['a session alone', { ses: session }, {}, true],
  ['a session alone, with no active turn', { ses: session }, { activeTurn: null }, true],
  ['a turn alone', { trn: turn }, {}, true],
])('an egress token of %s', (_, claims, facts, stale) => {
  expect(decideTurnStaleness(claims, facts && { ...FACTS, ...facts })).toBe(stale ? 'run_stale' : null);
});
