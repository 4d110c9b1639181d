/** The page docs/mcp-conformance.md, from what the suite found. */
import type { AllScores, Column } from './legs.ts';
import { clientScenarios, isOfAuthorization } from './legs.ts';
import { REVISIONS, type Revision, readRequirements, type Score, type Scores } from './suite.ts';

/** Required checks that do not pass where a server is translated, and why none could. */
export const UNTRANSLATABLE: Readonly<Record<string, string>> = {
  'sep-2322-elicitation-incomplete':
    'it wants the very key that a modern server gave its question; a legacy server’s question has none, so the gate makes one',
  'sep-2322-respect-client-capabilities':
    'a legacy server learns once for its session what its clients can do, not with each request; a question that this client cannot answer is the error -32021',
};

export function renderPage(scores: AllScores, version: string): string {
  return [...intro(version), ...REVISIONS.flatMap((each) => renderRevision(each, scores[each])), ''].join(
    '\n',
  );
}

/** What a cell says of a scenario. */
export function renderScore(score: Score | undefined): string {
  if (!score) return '–';
  const { passed, failed, warned } = score;
  const all = passed + failed + warned;
  return all === 0 ? 'skipped' : `${passed}/${all}`;
}

/** How many of the required scenarios passed with all of their checks, and how many checks did. */
function total(scenarios: readonly string[], scores: Scores): string {
  const found = scenarios.flatMap((scenario) => scores.get(scenario) ?? []);
  const whole = found.filter(({ failed, warned }) => failed + warned === 0).length;
  const passed = found.reduce((sum, each) => sum + each.passed, 0);
  const all = found.reduce((sum, each) => sum + each.passed + each.failed + each.warned, 0);
  return `${whole}/${scenarios.length} scenarios, ${passed}/${all} checks`;
}

function intro(version: string): string[] {
  return [
    '# MCP conformance',
    '',
    `The official suite, \`@modelcontextprotocol/conformance\` ${version}, run against the gates with a real database. Each cell`,
    'has the checks that passed, of all. Written by `npm run test:long -- test/long/mcp-conformance.test.ts -u`; without `-u`',
    'the same test says whether it is still so, and a part of it runs with every `npm test`.',
    '',
    '- **direct**: the suite and a server or client on the official SDK (`test/conformance`), without a gate. What fails here',
    '  says nothing of the gate.',
    '- **through the gate**: the same, with a URL of the gate and a run token. The server speaks both eras.',
    '- **merged**: that server beside another one, both as one at `/mcp`.',
    '- **translated**: the server behind the gate speaks only the other era.',
    '',
    'The suite sends no token: a door on loopback adds it, and passes all else as it is. Its own servers, for the client’s',
    'scenarios, are declared in a session’s manifest, and reached at `/mcp/{server}`.',
    '',
    'Where the server is translated, these required checks cannot pass:',
    '',
    ...Object.entries(UNTRANSLATABLE).map(([check, why]) => `- \`${check}\`: ${why}.`),
  ];
}

function renderRevision(revision: Revision, { server, client }: AllScores[Revision]): string[] {
  const required = readRequirements(revision);
  const reported = [...server.direct.keys()].filter((each) => !required.server.includes(each));
  return [
    '',
    `## ${revision}, server`,
    '',
    ...renderTable(required.server, server, SERVER_COLUMNS),
    '',
    `## ${revision}, client`,
    '',
    ...renderTable(clientScenarios(revision), client, CLIENT_COLUMNS),
    '',
    `Left out, as the gates are no OAuth client yet: ${listed(required.client.filter(isOfAuthorization))}.`,
    '',
    `## ${revision}, not required`,
    '',
    'Extensions and scenarios that came after the revision, which the suite reports and does not count.',
    ...(revision === '2026-07-28'
      ? ['A legacy server has no tasks of this kind: translated, there are none to find.']
      : []),
    '',
    ...renderRows(reported.toSorted(), server, SERVER_COLUMNS),
  ];
}

function renderTable<C extends Column>(
  scenarios: readonly string[],
  scores: Readonly<Record<C, Scores>>,
  columns: readonly C[],
): string[] {
  const totals = columns.map((each) => `**${total(scenarios, scores[each])}**`);
  return [...renderRows(scenarios, scores, columns), `| **all** | ${totals.join(' | ')} |`];
}

function renderRows<C extends Column>(
  scenarios: readonly string[],
  scores: Readonly<Record<C, Scores>>,
  columns: readonly C[],
): string[] {
  return [
    `| scenario | ${columns.map((each) => TITLES[each]).join(' | ')} |`,
    `| --- |${' --- |'.repeat(columns.length)}`,
    ...scenarios.map((scenario) => {
      const cells = columns.map((each) => renderScore(scores[each].get(scenario)));
      return `| \`${scenario}\` | ${cells.join(' | ')} |`;
    }),
  ];
}

const listed = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(', ');

const SERVER_COLUMNS = ['direct', 'gate', 'merged', 'translated'] as const;
const CLIENT_COLUMNS = ['direct', 'gate'] as const;
const TITLES: Readonly<Record<Column, string>> = {
  direct: 'direct',
  gate: 'through the gate',
  merged: 'merged',
  translated: 'translated',
};
