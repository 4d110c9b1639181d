/** Every run of the suite that the table of docs/mcp-conformance.md is made of, one after the other. */
import type { ServedEra } from './server/serve.ts';
import type { Stand } from './stand.ts';
import {
  REVISIONS,
  type Revision,
  readRequirements,
  runClientScenario,
  runServerSuite,
  type Score,
  type Scores,
} from './suite.ts';

/** How a client and a server of the suite meet. */
export type Column = 'direct' | 'gate' | 'merged' | 'translated';

interface RevisionScores {
  readonly server: Readonly<Record<Column, Scores>>;
  readonly client: Readonly<Record<'direct' | 'gate', Scores>>;
}

export type AllScores = Readonly<Record<Revision, RevisionScores>>;

export async function runAllLegs(stand: Stand): Promise<AllScores> {
  const legs: [Revision, RevisionScores][] = [];
  for (const revision of REVISIONS) {
    const server = {
      direct: await runServerSuite(stand.url('direct', 'dual'), revision),
      gate: await runServerSuite(stand.url('gate', 'dual'), revision),
      merged: await runServerSuite(stand.mergedUrl, revision),
      translated: await runServerSuite(stand.url('gate', OTHER_ERA[revision]), revision),
    };
    const client = {
      direct: await runClients(stand, revision, 'direct'),
      gate: await runClients(stand, revision, 'gate'),
    };
    legs.push([revision, { server, client }]);
  }
  return Object.fromEntries(legs) as unknown as AllScores;
}

async function runClients(stand: Stand, revision: Revision, way: 'direct' | 'gate'): Promise<Scores> {
  const scores = new Map<string, Score>();
  for (const scenario of clientScenarios(revision)) {
    const variables = stand.clientVariables(way);
    scores.set(scenario, await runClientScenario(stand.clientCommand, revision, scenario, variables));
  }
  return scores;
}

/** Those of authorization are another step's: the gate is no OAuth client yet. */
export function clientScenarios(revision: Revision): readonly string[] {
  return readRequirements(revision).client.filter((scenario) => !isOfAuthorization(scenario));
}

export function isOfAuthorization(scenario: string): boolean {
  return scenario.startsWith('auth/');
}

/** The server that speaks only the era that a revision is not of. */
export const OTHER_ERA: Readonly<Record<Revision, ServedEra>> = {
  '2025-11-25': 'modern',
  '2026-07-28': 'legacy',
};
