/** Letters between gates, through a real database: who gets one, who does not, and what is left of it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ChangeFeed } from '../../../core-lite/database/changes.ts';
import { Secret } from '../../../core-lite/secret.ts';
import { SealKey } from '../../../core-lite/vault/seal.ts';
import { ALL_GATES, DatabaseLetters, type Letter } from '../../../gates/mcp/letters.ts';
import { createInstallation, type Installation } from '../../support/installation.ts';

const ANSWER: Letter = {
  kind: 'answer',
  session: 's',
  id: 'ask.rep_b.1',
  answer: { result: { a: 'canary' } },
};
const CANCEL: Letter = { kind: 'cancel', session: 's', id: 7 };
let installation: Installation;
const feeds: ChangeFeed[] = [];
const failures: unknown[] = [];

beforeAll(async () => {
  installation = await createInstallation();
});
afterAll(async () => {
  for (const feed of feeds) await feed.close();
  await installation?.close();
});

async function open(replica: string, seal: SealKey) {
  const feed = new ChangeFeed(new Secret(installation.url), 'sallyport_gates', replica);
  feeds.push(feed);
  feed.start();
  const db = installation.as('sallyport_gates');
  const letters = new DatabaseLetters({
    db,
    feed,
    seal,
    replica,
    onFailure: (error) => failures.push(error),
  });
  const got: Letter[] = [];
  letters.receive((letter) => got.push(letter));
  await expect.poll(() => feed.live).toBe(true);
  return { letters, got };
}

describe('a letter', () => {
  it('reaches its gate alone, or all of them, and is sealed meanwhile', async () => {
    const seal = SealKey.make();
    const [a, b, stranger] = [
      await open('rep_a', seal),
      await open('rep_b', seal),
      await open('rep_c', SealKey.make()),
    ];
    await a.letters.send('rep_d', ANSWER);
    await a.letters.send('no gate’s name', ANSWER);
    const [row] = await installation.owner.query<{ sealed: Buffer }>('SELECT sealed FROM mcp_letters');
    expect(row?.sealed.includes('canary')).toBe(false);
    await a.letters.send('rep_b', ANSWER);
    await a.letters.send(ALL_GATES, CANCEL);
    await expect.poll(() => [a.got, b.got]).toEqual([[CANCEL], [ANSWER, CANCEL]]);
    await expect.poll(() => failures).toMatchObject([{ code: 'seal_broken' }]);
    expect(stranger.got).toEqual([]);
  });

  it('is gone when it is old', async () => {
    await installation.owner.query(`UPDATE mcp_letters SET written_at = now() - interval '1 hour'`);
    const { letters } = await open('rep_e', SealKey.make());
    await letters.send('rep_f', ANSWER);
    const rows = await installation.owner.query<{ addressee: string }>('SELECT addressee FROM mcp_letters');
    expect(rows).toEqual([{ addressee: 'rep_f' }]);
  });
});
