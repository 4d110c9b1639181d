/**
 * The whole conformance suite, without a gate and through it, in both eras and across them:
 * `npm run test:long -- test/long/mcp-conformance.test.ts`, with `-u` to write docs/mcp-conformance.md anew.
 */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { type AllScores, runAllLegs } from '../conformance/legs.ts';
import { type Stand, startStand } from '../conformance/stand.ts';
import { REVISIONS, readRequirements, type Score } from '../conformance/suite.ts';
import { renderPage, UNTRANSLATABLE } from '../conformance/table.ts';

let stand: Stand;
let scores: AllScores;

beforeAll(async () => {
  stand = await startStand();
  scores = await runAllLegs(stand);
}, 600_000);

afterAll(() => stand?.close());

const page = fileURLToPath(new URL('../../docs/mcp-conformance.md', import.meta.url));

it('finds what docs/mcp-conformance.md says', async () => {
  await expect(
    renderPage(scores, manifest.devDependencies['@modelcontextprotocol/conformance']),
  ).toMatchFileSnapshot(page);
});

describe.each(REVISIONS)('%s', (revision) => {
  it.each(readRequirements(revision).server)('%s: a server', (scenario) => {
    const { direct, gate, merged, translated } = scores[revision].server;
    expect(said(direct.get(scenario)), 'direct').toEqual([]);
    expect(said(gate.get(scenario)), 'through the gate').toEqual([]);
    expect(said(merged.get(scenario)), 'merged').toEqual([]);
    const wrong = translated.get(scenario)?.wrong.filter((check) => !(check in UNTRANSLATABLE));
    expect(wrong, 'translated').toEqual([]);
  });

  it('every client scenario passes', () => {
    const { direct, gate } = scores[revision].client;
    for (const [scenario, score] of [...direct, ...gate]) expect(said(score), scenario).toEqual([]);
  });
});

it('says of no check that it cannot pass when it does', () => {
  const wrong = [...scores['2026-07-28'].server.translated.values()].flatMap((score) => score.wrong);
  expect(Object.keys(UNTRANSLATABLE).filter((check) => !wrong.includes(check))).toEqual([]);
});

function said(score: Score | undefined): readonly string[] {
  return score?.said ?? ['the suite did not run it'];
}
