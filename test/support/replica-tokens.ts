/** Replicas that share one database and want tokens of one credential, and a provider that is a script. */
import { Writable } from 'node:stream';
import { ChangeFeed } from '../../core-lite/database/changes.ts';
import { openLog } from '../../core-lite/log.ts';
import { Secret } from '../../core-lite/secret.ts';
import { type CredentialInput, parseCredential, unpackSecret } from '../../core-lite/vault/credential.ts';
import { credentialPlace, putCredential, putVault } from '../../core-lite/vault/credential-store.ts';
import type { OauthCredential, SendTokenRequest } from '../../core-lite/vault/oauth-renewer.ts';
import type { OauthSettings } from '../../core-lite/vault/oauth-settings.ts';
import { OauthTokens } from '../../core-lite/vault/oauth-tokens.ts';
import type { Installation } from './installation.ts';

export interface TokenReplica {
  readonly tokens: OauthTokens;
  /** What it logged. */
  logged(): string;
  /** The next notice of the credential. */
  heard(id: string): Promise<void>;
  /** Moves its own clock on. */
  pass(ms: number): void;
  close(): Promise<void>;
}

export async function startTokenReplica(
  installation: Installation,
  send: SendTokenRequest,
): Promise<TokenReplica> {
  const lines: string[] = [];
  const destination = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  });
  const feed = new ChangeFeed(new Secret(installation.url), 'sallyport_egress', `r${Math.random()}`.slice(2));
  let passed = 0;
  let hearers: { readonly id: string; readonly resolve: () => void }[] = [];
  const live = new Promise<void>((resolve) => feed.subscribe({ restored: resolve }));
  const tokens = new OauthTokens({
    database: installation.as('sallyport_egress'),
    feed,
    seal: installation.seals.egress,
    send,
    log: openLog('test', 'debug', destination),
    now: () => performance.now() + passed,
  });
  // Last, so that the caches have heard it before.
  feed.subscribe({
    change: ({ id }) => {
      for (const hearer of hearers) if (hearer.id === id) hearer.resolve();
      hearers = hearers.filter((hearer) => hearer.id !== id);
    },
  });
  feed.start();
  await live;
  return {
    tokens,
    logged: () => lines.join(''),
    heard: (id) => new Promise((resolve) => hearers.push({ id, resolve })),
    pass: (ms) => {
      passed += ms;
    },
    close: async () => {
      await tokens.close();
      await feed.close();
    },
  };
}

/** A new credential in a vault of its own. */
export async function putOauth(
  installation: Installation,
  vault: string,
  more: Partial<CredentialInput> = {},
): Promise<OauthCredential> {
  const { id } = await installation.owner.transaction(async (tx) => {
    await putVault(tx, vault);
    return putCredential(tx, installation.seals, vault, 'one', parseCredential({ ...OAUTH, ...more }));
  });
  return openOauth(installation, id);
}

/** As a reader opens it now. */
export async function openOauth({ owner, seals }: Installation, id: string): Promise<OauthCredential> {
  const [row] = await owner.query<{ version: number; settings: OauthSettings; sealed: Buffer }>(
    'SELECT version, settings, sealed FROM credentials WHERE id = $1',
    [id],
  );
  if (!row) throw new Error(`no credential ${id}`);
  const { version, settings, sealed } = row;
  return {
    id,
    version,
    settings,
    parts: unpackSecret(seals.egress.open(sealed, credentialPlace(id, version))),
  };
}

const OAUTH: CredentialInput = {
  kind: 'oauth',
  hosts: ['api.test'],
  variable: 'GH_TOKEN',
  tokenUrl: 'https://login.test/token',
  clientId: 'client-1',
  grant: 'client_credentials',
  secret: { client_secret: new Secret('canary-client-secret') },
};
