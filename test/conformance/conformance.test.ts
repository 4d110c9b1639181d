/**
 * A part of the conformance suite with every run: one whole revision through the gate in front of a server of its era,
 * and some of each era in front of a server of the other one. The rest is test/long/mcp-conformance.test.ts.
 */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clientScenarios, OTHER_ERA } from './legs.ts';
import { type Stand, startStand } from './stand.ts';
import {
  REVISIONS,
  readRequirements,
  runClientScenario,
  runServerScenario,
  runServerSuite,
} from './suite.ts';
import { renderScore } from './table.ts';

const page = readFileSync(new URL('../../docs/mcp-conformance.md', import.meta.url), 'utf8');
let stand: Stand;

beforeAll(async () => {
  stand = await startStand();
});

afterAll(() => stand?.close());

it('passes every server scenario of 2025-11-25 through the gate', { timeout: 60_000 }, async () => {
  const scores = await runServerSuite(stand.url('gate', 'dual'), '2025-11-25');
  for (const scenario of readRequirements('2025-11-25').server) {
    expect(scores.get(scenario)?.said, scenario).toEqual([]);
    expect(renderScore(scores.get(scenario)), scenario).toBe(rowOf('2025-11-25, server', scenario)[2]);
  }
});

it.each([
  ['2026-07-28', 'input-required-result-multi-round'],
  ['2026-07-28', 'tools-call-with-progress'],
  ['2025-11-25', 'tools-call-elicitation'],
] as const)(
  '%s: %s passes in front of a server of the other era',
  { timeout: 30_000 },
  async (revision, name) => {
    const score = await runServerScenario(stand.url('gate', OTHER_ERA[revision]), revision, name);
    expect(score.said).toEqual([]);
    expect(renderScore(score)).toBe(rowOf(`${revision}, server`, name)[4]);
  },
);

it.each([
  ['2025-11-25', 'tools-list'],
  ['2026-07-28', 'sep-2164-resource-not-found'],
] as const)('%s: %s passes beside another server', { timeout: 30_000 }, async (revision, name) => {
  const score = await runServerScenario(stand.mergedUrl, revision, name);
  expect(score.said).toEqual([]);
  expect(renderScore(score)).toBe(rowOf(`${revision}, server`, name)[3]);
});

it('2026-07-28: request-metadata passes as a client', { timeout: 30_000 }, async () => {
  const variables = stand.clientVariables('gate');
  const score = await runClientScenario(stand.clientCommand, '2026-07-28', 'request-metadata', variables);
  expect(score.said).toEqual([]);
});

describe.each(REVISIONS)('docs/mcp-conformance.md on %s', (revision) => {
  it('has every required scenario, and each passes through the gate as it does without', () => {
    for (const scenario of readRequirements(revision).server) {
      const [, direct, gate, merged] = rowOf(`${revision}, server`, scenario);
      expect(gate, scenario).toMatch(/^(\d+)\/\1$/);
      expect([gate, merged], scenario).toEqual([direct, direct]);
    }
    for (const scenario of clientScenarios(revision)) {
      const [, direct, gate] = rowOf(`${revision}, client`, scenario);
      expect(gate, scenario).toMatch(/^(\d+)\/\1$/);
      expect(gate, scenario).toBe(direct);
    }
  });
});

/** The cells of a scenario under a heading. */
function rowOf(heading: string, scenario: string): readonly string[] {
  const section = page.split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  const line = section.split('\n').find((each) => each.startsWith(`| \`${scenario}\` |`)) ?? '';
  return line
    .split('|')
    .slice(1)
    .map((cell) => cell.trim());
}
