/** The turn that `run` works in, against a real core: what is opened, kept, lost and ended. */
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Api, openApi } from '../../cli/api.ts';
import { takeTurn } from '../../cli/run-turn.ts';
import { formatAddress } from '../../core-lite/service.ts';
import { startWorld, type World } from '../support/world.ts';

interface SessionRow {
  readonly id: string;
  readonly agent: string;
  readonly activeTurn: string | null;
  readonly endedAt: string | null;
}

let world: World;
let api: Api;

beforeAll(async () => {
  world = await startWorld();
  const variables = {
    SALLYPORT_CORE_URL: `http://${formatAddress(world.core.address)}`,
    SALLYPORT_ADMIN_KEY: world.adminKey,
  };
  const write = (): void => {};
  const signal = new AbortController().signal;
  api = await openApi({ out: write, err: write, stdin: Readable.from([]), variables, signal });
  await world.call('PUT', '/v1/environments/dev', {});
});
afterAll(() => world?.close());

const open = (body: object = { environment: 'dev' }): Promise<SessionRow> =>
  world.call('POST', '/v1/sessions', { agent: 'own', ...body });
const look = (id: string): Promise<SessionRow> => world.call('GET', `/v1/sessions/${id}`);
/** The newest session. */
const newest = async (): Promise<SessionRow> => {
  const [first] = await world.call<SessionRow[]>('GET', '/v1/sessions?limit=1');
  if (!first) throw new Error('there is no session');
  return first;
};

describe('what was opened for the run', () => {
  it('is the agent cli’s, or whose was said, and ends with it', async () => {
    for (const [wanted, agent] of [
      [{ environment: 'dev' }, 'cli'],
      [{ environment: 'dev', agent: 'coder' }, 'coder'],
    ] as const) {
      const turn = await takeTurn(api, wanted);
      const { id, activeTurn, ...session } = await newest();
      expect([session.agent, session.endedAt, activeTurn]).toEqual([agent, null, expect.any(String)]);
      await turn.close();
      expect(await look(id)).toMatchObject({ activeTurn: null, endedAt: expect.any(String) });
    }
  });

  it('ends where the turn was cancelled meanwhile', async () => {
    const turn = await takeTurn(api, { environment: 'dev' });
    const { id, activeTurn } = await newest();
    await world.call('POST', `/v1/turns/${activeTurn}/cancel`);
    await turn.close();
    expect((await look(id)).endedAt).not.toBeNull();
  });

  it('is left to whoever has taken the lease over', async () => {
    const turn = await takeTurn(api, { environment: 'dev' });
    const { id, activeTurn } = await newest();
    await world.call('POST', `/v1/turns/${activeTurn}/lease`, { holder: 'another' });
    await turn.close();
    expect(await look(id)).toMatchObject({ activeTurn, endedAt: null });
  });
});

describe('the heartbeat', () => {
  it('brings nothing while the token lasts, and tokens when it does not', async () => {
    const turn = await takeTurn(api, { environment: 'dev' });
    const { runToken, egressToken } = turn.tokens;
    expect(await turn.heartbeat(turn.tokens.runTokenExpiresAt)).not.toHaveProperty('runToken');
    const fresh = await turn.heartbeat(new Date(Date.now() + 200_000).toISOString());
    expect(fresh).toMatchObject({ runToken: expect.any(String), egressToken: expect.any(String) });
    expect(fresh).not.toMatchObject({ runToken });
    expect(fresh).not.toMatchObject({ egressToken });
    await turn.close();
  });

  it.each(['cancel', 'lease'])('says that the run is over after a %s', async (what) => {
    const turn = await takeTurn(api, { environment: 'dev' });
    const { id, activeTurn } = await newest();
    await world.call(
      'POST',
      `/v1/turns/${activeTurn}/${what}`,
      what === 'lease' ? { holder: 'x' } : undefined,
    );
    expect(await turn.heartbeat(turn.tokens.runTokenExpiresAt)).toBe('stale');
    await world.call('POST', `/v1/sessions/${id}/end`);
  });
});

describe('what cannot be taken', () => {
  it('is refused in one line, and nothing is left open', async () => {
    const plain = await open({});
    const busy = await open();
    await world.call('POST', `/v1/sessions/${busy.id}/turns`);
    for (const [wanted, message] of [
      [{ environment: 'nowhere' }, /nowhere/],
      [{ session: plain.id }, /has no environment/],
      [{ session: busy.id }, /still active/],
      [{ session: busy.id, environment: 'prod' }, /runs in dev/],
      [{ turn: 'trn_00000000000000000000000000000000' }, /no such turn/],
    ] as const) {
      await expect(takeTurn(api, wanted)).rejects.toThrow(message);
    }
    expect(await world.call('GET', '/v1/sessions?open=true&agent=cli')).toEqual([
      // The one whose lease was taken over above.
      expect.objectContaining({ endedAt: null }),
    ]);
  });
});
