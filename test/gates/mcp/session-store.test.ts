/** What a legacy client set in its session, in a real database: sealed, for its key alone, and gone with its session. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SealKey } from '../../../core-lite/vault/seal.ts';
import { DatabaseSessionStore } from '../../../gates/mcp/downstream/session-store.ts';
import { createInstallation, type Installation } from '../../support/installation.ts';
import { OTHER_SESSION, SESSION } from '../../support/mcp-stand.ts';

const SET = { ended: false, logLevel: 'error', subscribed: ['canary:uri'] };
let installation: Installation;
let store: DatabaseSessionStore;

beforeAll(async () => {
  installation = await createInstallation();
  store = new DatabaseSessionStore(installation.as('sallyport_gates'), SealKey.make());
  for (const id of [SESSION, OTHER_SESSION]) {
    await installation.owner.query(`INSERT INTO sessions (id, agent, manifest) VALUES ($1, 'a', '{}')`, [id]);
  }
});
afterAll(() => installation?.close());

describe('what a client set', () => {
  it('is kept for its session, and sealed', async () => {
    expect(await store.load('k')).toBeNull();
    await store.save('k', SESSION, { ...SET, logLevel: null });
    await store.save('k', SESSION, SET);
    expect(await store.load('k')).toEqual(SET);
    const [row] = await installation.owner.query<{ sealed: Buffer }>('SELECT sealed FROM mcp_sessions');
    expect(row?.sealed.includes('canary')).toBe(false);
    await installation.owner.query(`UPDATE mcp_sessions SET key = 'other'`);
    await expect(store.load('other')).rejects.toMatchObject({ code: 'seal_broken' });
  });

  it('is gone a day after its session ended', async () => {
    await installation.owner.query(`UPDATE sessions SET ended_at = now() - interval '2 days' WHERE id = $1`, [
      SESSION,
    ]);
    await store.save('late', OTHER_SESSION, SET);
    const rows = await installation.owner.query<{ key: string }>('SELECT key FROM mcp_sessions');
    expect(rows).toEqual([{ key: 'late' }]);
  });
});
