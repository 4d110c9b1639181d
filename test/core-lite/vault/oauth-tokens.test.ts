/** Current tokens across replicas of one database: asked for once, never used past their end, never lost. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { Secret } from '../../../core-lite/secret.ts';
import { rotateCredential } from '../../../core-lite/vault/credential-store.ts';
import { OauthFailure } from '../../../core-lite/vault/oauth-failure.ts';
import type {
  OauthCredential,
  SendTokenRequest,
  TokenOutcome,
} from '../../../core-lite/vault/oauth-renewer.ts';
import type { TokenReply } from '../../../core-lite/vault/oauth-request.ts';
import { createInstallation, type Installation } from '../../support/installation.ts';
import { openOauth, putOauth, startTokenReplica, type TokenReplica } from '../../support/replica-tokens.ts';

let installation: Installation;
let credential: OauthCredential;
let replicas: TokenReplica[] = [];
let serial = 0;
/** The forms that the provider got. */
let asked: URLSearchParams[] = [];
let answer: (form: URLSearchParams, signal: AbortSignal) => Promise<TokenReply | OauthFailure>;

beforeAll(async () => {
  installation = await createInstallation();
});
afterAll(() => installation?.close());
beforeEach(async () => {
  serial += 1;
  asked = [];
  answer = async () => issue();
  credential = await putOauth(installation, `v${serial}`);
});
afterEach(async () => {
  await Promise.all(replicas.map((replica) => replica.close()));
  replicas = [];
});

describe('a token', () => {
  it('is asked for once by 200 requests at two replicas', async () => {
    const gate = Promise.withResolvers<void>();
    answer = async () => {
      await gate.promise;
      return issue();
    };
    const [one, two] = [await start(), await start()];
    const reads = Array.from({ length: 200 }, (_, i) => (i % 2 === 0 ? one : two).tokens.read(credential));
    await soon(() => expect(asked).toHaveLength(1));
    gate.resolve();
    const got = await Promise.all(reads);
    expect(new Set(got.map(textOf))).toEqual(new Set(['canary-access-1']));
    expect(asked).toHaveLength(1);
  });

  it('is asked for once more by 200 requests when it has ended', async () => {
    const [one, two] = [await start(), await start()];
    await one.tokens.read(credential);
    await endToken();
    const reads = Array.from({ length: 200 }, (_, i) => (i % 2 === 0 ? one : two).tokens.read(credential));
    const got = await Promise.all(reads);
    expect(new Set(got.map(textOf))).toEqual(new Set(['canary-access-2']));
    expect(asked).toHaveLength(2);
  });

  it('is used from memory while the database is not asked', async () => {
    const replica = await start();
    const stored = replica.heard(credential.id);
    await replica.tokens.read(credential);
    await stored;
    await replica.tokens.read(credential);
    await installation.owner.query('ALTER TABLE oauth_grants RENAME TO oauth_grants_away');
    try {
      expect(textOf(await replica.tokens.read(credential))).toBe('canary-access-1');
      replica.pass(3_600_000);
      await expect(replica.tokens.read(credential)).rejects.toThrow();
    } finally {
      await installation.owner.query('ALTER TABLE oauth_grants_away RENAME TO oauth_grants');
    }
    // The database's clock is the one that counts.
    expect(textOf(await replica.tokens.read(credential))).toBe('canary-access-1');
    expect(asked).toHaveLength(1);
  });

  it('is renewed ahead of its end while requests go on with the old one', async () => {
    const replica = await start();
    await replica.tokens.read(credential);
    const gate = Promise.withResolvers<void>();
    answer = async () => {
      await gate.promise;
      return issue();
    };
    await shift('refresh_at', '-1 second');
    await soon(async () => {
      expect(textOf(await replica.tokens.read(credential))).toBe('canary-access-1');
      expect(asked).toHaveLength(2);
    });
    gate.resolve();
    await soon(async () => expect(textOf(await replica.tokens.read(credential))).toBe('canary-access-2'));
    expect(asked).toHaveLength(2);
  });

  it('serves on when it cannot be renewed ahead of its end, and the endpoint is left alone for a while', async () => {
    const replica = await start();
    await replica.tokens.read(credential);
    answer = async () => new OauthFailure('OAUTH_UNREACHABLE');
    await shift('refresh_at', '-1 second');
    await soon(async () => {
      expect(textOf(await replica.tokens.read(credential))).toBe('canary-access-1');
      expect((await row())['failure']).toBe('OAUTH_UNREACHABLE');
    });
    for (let i = 0; i < 50; i += 1) await replica.tokens.read(credential);
    expect(asked).toHaveLength(2);
  });

  it('is not asked for again and again where there is none', async () => {
    answer = async () => new OauthFailure('OAUTH_REFUSED');
    const [one, two] = [await start(), await start()];
    const got = await Promise.all(
      Array.from({ length: 100 }, (_, i) => (i % 2 === 0 ? one : two).tokens.read(credential)),
    );
    expect(new Set(got.map(codeOf))).toEqual(new Set(['OAUTH_REFUSED']));
    for (let i = 0; i < 20; i += 1) await one.tokens.read(credential);
    expect(asked).toHaveLength(1);
    await shift('retry_at', '-1 second');
    answer = async () => issue();
    expect(textOf(await two.tokens.read(credential))).toMatch(/^canary-access-/);
    expect((await row())['failure']).toBeNull();
  });

  it('is never used past its end, whatever the endpoint says', async () => {
    const replica = await start();
    await replica.tokens.read(credential);
    answer = async () => new OauthFailure('OAUTH_UNAVAILABLE');
    await endToken();
    expect(codeOf(await replica.tokens.read(credential))).toBe('OAUTH_UNAVAILABLE');
  });

  it('is asked for by another replica when the first died in the middle', async () => {
    const never = Promise.withResolvers<TokenReply>();
    answer = () => never.promise;
    const [dead, alive] = [await start(), await start()];
    const left = dead.tokens.read(credential);
    await soon(() => expect(asked).toHaveLength(1));
    answer = async () => issue();
    const waiting = alive.tokens.read(credential);
    await shift('claimed_until', '-1 second');
    expect(textOf(await waiting)).toBe('canary-access-2');
    // It was only paused: what it got late is not put over the newer one.
    never.resolve(issue());
    expect(await left).toBe('superseded');
    expect(textOf(await dead.tokens.read(credential))).toBe('canary-access-2');
  });

  it('that is of a rotated credential is let go of, and one on its way is not kept', async () => {
    const replica = await start();
    await replica.tokens.read(credential);
    const gate = Promise.withResolvers<void>();
    await endToken();
    answer = async () => {
      await gate.promise;
      return issue();
    };
    const late = replica.tokens.read(credential);
    await soon(() => expect(asked).toHaveLength(2));
    await rotate({ client_secret: new Secret('another-client-secret') });
    gate.resolve();
    expect(await late).toBe('superseded');
    expect(await row()).toMatchObject({ sealed_access: null, failure: null });
    expect(await replica.tokens.read(credential)).toBe('superseded');
    const rotated = await openOauth(installation, credential.id);
    const outcome = await replica.tokens.read(rotated);
    expect(textOf(outcome)).toMatch(/^canary-access-/);
    // The number never comes again: records and kept connections name a token by it.
    expect(versionOf(outcome)).toBe(2);
  });
});

describe('a refresh token', () => {
  beforeEach(async () => {
    credential = await putOauth(installation, `r${serial}`, {
      grant: 'refresh_token',
      secret: {
        client_secret: new Secret('canary-client-secret'),
        refresh_token: new Secret('canary-refresh-0'),
      },
    });
  });

  it('that the provider changes is used next, by any replica', async () => {
    answer = async () => issue({ refresh_token: `canary-refresh-${asked.length}` });
    for (const _ of [1, 2, 3]) {
      await (await start()).tokens.read(credential);
      await endToken();
    }
    answer = async () => issue();
    await (await start()).tokens.read(credential);
    await endToken();
    await (await start()).tokens.read(credential);
    expect(asked.map((form) => form.get('refresh_token'))).toEqual([
      'canary-refresh-0',
      'canary-refresh-1',
      'canary-refresh-2',
      'canary-refresh-3',
      'canary-refresh-3',
    ]);
  });

  it('that is not valid any more is said, with neither it nor anything else that is secret', async () => {
    answer = async () =>
      reply(400, { error: 'invalid_grant', error_description: 'canary-refresh-0 is gone' });
    const replica = await start();
    expect(codeOf(await replica.tokens.read(credential))).toBe('OAUTH_INVALID_GRANT');
    expect(replica.logged()).toContain(`"credential":"${credential.id}","code":"OAUTH_INVALID_GRANT"`);
    expect(replica.logged()).not.toContain('canary');
    await rotate({
      client_secret: new Secret('canary-client-secret'),
      refresh_token: new Secret('canary-refresh-9'),
    });
    answer = async () => issue();
    await replica.tokens.read(await openOauth(installation, credential.id));
    expect(asked.map((form) => form.get('refresh_token'))).toEqual(['canary-refresh-0', 'canary-refresh-9']);
  });

  it('and its token are in the database only sealed, each for its row and version', async () => {
    answer = async () => issue({ refresh_token: 'canary-refresh-1' });
    const replica = await start();
    await replica.tokens.read(credential);
    const [dump] = await installation.owner.query<{ text: string }>(
      `SELECT string_agg(encode(sealed_access || sealed_refresh, 'escape') || g::text, '') AS text
         FROM oauth_grants g WHERE credential_id = $1`,
      [credential.id],
    );
    expect(dump?.text.length).toBeGreaterThan(100);
    expect(dump?.text).not.toContain('canary');
    await installation.owner.query('UPDATE oauth_grants SET version = version + 1 WHERE credential_id = $1', [
      credential.id,
    ]);
    await soon(() => expect(replica.tokens.read(credential)).rejects.toMatchObject({ code: 'seal_broken' }));
  });
});

describe('a 401', () => {
  it('has the next request get another token, at every replica', async () => {
    const [one, two] = [await start(), await start()];
    const first = await one.tokens.read(credential);
    await two.tokens.read(credential);
    expect(await one.tokens.refuse(credential.id, versionOf(first))).toBe(true);
    expect(textOf(await one.tokens.read(credential))).toBe('canary-access-2');
    await soon(async () => expect(textOf(await two.tokens.read(credential))).toBe('canary-access-2'));
    expect(asked).toHaveLength(2);
  });

  it('of an older token does not discard the one that came since', async () => {
    const replica = await start();
    const first = await replica.tokens.read(credential);
    await replica.tokens.refuse(credential.id, versionOf(first));
    await replica.tokens.read(credential);
    expect(await replica.tokens.refuse(credential.id, versionOf(first))).toBe(true);
    expect(textOf(await replica.tokens.read(credential))).toBe('canary-access-2');
    expect(asked).toHaveLength(2);
  });

  it('by an origin that refuses every token does not flood the token endpoint', async () => {
    const replica = await start();
    const first = await replica.tokens.read(credential);
    expect(await replica.tokens.refuse(credential.id, versionOf(first))).toBe(true);
    for (let i = 0; i < 20; i += 1) {
      const next = await replica.tokens.read(credential);
      expect(await replica.tokens.refuse(credential.id, versionOf(next))).toBe(false);
    }
    expect(asked).toHaveLength(2);
  });
});

describe('a replica that closes', () => {
  it('asks no provider any more, though it has claimed', async () => {
    answer = async () => issue();
    const replica = await start();
    const { read, closing } = await installation.owner.transaction(async (tx) => {
      await tx.query('LOCK TABLE oauth_grants IN SHARE MODE');
      const read = replica.tokens.read(credential);
      await soon(async () => {
        const waits = await installation.owner.query(
          "SELECT FROM pg_locks WHERE NOT granted AND relation = 'oauth_grants'::regclass",
        );
        expect(waits).toHaveLength(1);
      });
      return { read, closing: replica.tokens.close() };
    });
    await Promise.all([read, closing]);
    expect(asked).toEqual([]);
    answer = async () => issue();
    expect(textOf(await (await start()).tokens.read(credential))).toBe('canary-access-1');
  });

  it('does not wait for a provider that is silent', async () => {
    answer = (_, signal) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve(new OauthFailure('OAUTH_UNREACHABLE')));
      });
    const [one, two] = [await start(), await start()];
    const reads = [one.tokens.read(credential), two.tokens.read(credential)];
    await soon(() => expect(asked).toHaveLength(1));
    await Promise.all([one.tokens.close(), two.tokens.close()]);
    for (const outcome of await Promise.all(reads)) expect(outcome).toBeInstanceOf(OauthFailure);
    // Nobody has to wait for it, nor is the provider blamed.
    answer = async () => issue();
    expect(textOf(await (await start()).tokens.read(credential))).toBe('canary-access-2');
  });
});

/** The change feed takes its moment, a busy machine more. */
function soon(check: () => unknown): Promise<unknown> {
  return vi.waitFor(check, { timeout: 10_000, interval: 10 });
}

async function start(): Promise<TokenReplica> {
  const send: SendTokenRequest = (request, signal) => {
    const form = new URLSearchParams(request.form.reveal());
    asked.push(form);
    return answer(form, signal);
  };
  const replica = await startTokenReplica(installation, send);
  replicas.push(replica);
  return replica;
}

function issue(more: object = {}): TokenReply {
  return reply(200, {
    access_token: `canary-access-${asked.length}`,
    token_type: 'bearer',
    expires_in: 3600,
    ...more,
  });
}

function reply(status: number, body: object): TokenReply {
  return { status, body: new Secret(JSON.stringify(body)), retryAfterS: 0 };
}

function rotate(parts: Record<string, Secret>) {
  const vault = credential.settings.grant === 'refresh_token' ? `r${serial}` : `v${serial}`;
  return installation
    .as('sallyport_core')
    .transaction((tx) => rotateCredential(tx, installation.seals, vault, 'one', parts));
}

async function endToken(): Promise<void> {
  await shift('expires_at', '-1 second');
}

/** As if time had passed, for every replica, which all hear of it. */
async function shift(column: string, by: string): Promise<void> {
  const heard = replicas.map((replica) => replica.heard(credential.id));
  await installation.owner.transaction(async (tx) => {
    const time = `${column} = clock_timestamp() + $2::interval`;
    await tx.query(`UPDATE oauth_grants SET ${time} WHERE credential_id = $1`, [credential.id, by]);
    // Of a time that is nobody's business there is no notice: here there is one each time, and no second one.
    await tx.query(`SELECT tell_change('credential', $1)`, [credential.id]);
  });
  await Promise.all(heard);
}

async function row(): Promise<Record<string, unknown>> {
  const [found] = await installation.owner.query<Record<string, unknown>>(
    'SELECT * FROM oauth_grants WHERE credential_id = $1',
    [credential.id],
  );
  return found ?? {};
}

function textOf(outcome: TokenOutcome): string {
  if (outcome === 'superseded') return outcome;
  return outcome instanceof OauthFailure ? outcome.code : outcome.value.reveal();
}

function codeOf(outcome: TokenOutcome): string {
  return outcome instanceof OauthFailure ? outcome.code : 'a token';
}

function versionOf(outcome: TokenOutcome): number {
  return outcome === 'superseded' || outcome instanceof OauthFailure ? -1 : outcome.version;
}
