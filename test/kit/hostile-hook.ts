/**
 * Tells the hostile kit's runner what our tokens are. The runner loads this file into its own process; what it needs
 * to know of the running product lies in the work folder beside the stage's.
 */
import { createPrivateKey, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeId } from '../../core-lite/id.ts';
import { NO_POD } from '../../core-lite/state/environment.ts';
import { TOKEN_KINDS, type TokenKind } from '../../core-lite/tokens/token-kinds.ts';
import type { KitEnvironment } from './product.ts';
import { supersedePod } from './supersede.ts';

/** What hostile.ts leaves for the hook. */
export interface HookFacts {
  readonly databaseUrl: string;
  readonly issuer: string;
  readonly kid: string;
  /** By the kit's name of a run, `session-1` and so on. */
  readonly environments: Readonly<Record<string, KitEnvironment>>;
}

/** The kit's word for a kind of token: the egress', the gates', or one that is neither. */
type KitKind = 'proxy' | 'gates' | 'other';
type Claims = Readonly<Record<string, unknown>>;

// biome-ignore lint/style/noDefaultExport: this is how the kit takes a hook
export default function makeHook(stage: { readonly dir: string }) {
  const read = (...path: string[]): string => readFileSync(join(stage.dir, ...path), 'utf8');
  const facts = JSON.parse(read('..', 'facts.json')) as HookFacts;
  const privateKeyPem = read('token-key.pem');
  const good = environmentOf(facts, 'session-1');
  const header = (kind: KitKind) => ({ alg: 'ES256', typ: TOKEN_KINDS[KINDS[kind]].typ, kid: facts.kid });
  const claims = (kind: KitKind, of = good): Claims => ({ ...standardClaims(facts, kind), ...OWN[kind](of) });
  const token = (kind: KitKind, content: Claims): string =>
    signed([header(kind), content], createPrivateKey(privateKeyPem));
  const variants: Record<string, (kind: KitKind) => Claims> = {
    'epoch-old': (kind) => withEpoch(claims(kind), good.hostEpoch - 1),
    'epoch-future': (kind) => withEpoch(claims(kind), good.hostEpoch + 1000),
    'epoch-missing': (kind) => withEpoch(claims(kind), undefined),
    'epoch-string': (kind) => withEpoch(claims(kind), String(good.hostEpoch)),
    'session-unknown': (kind) => claims(kind, { id: makeId('env'), hostEpoch: good.hostEpoch }),
  };
  for (const [session, environment] of Object.entries(facts.environments)) {
    if (session !== 'session-1') variants[session] = (kind) => claims(kind, environment);
  }
  return {
    privateKeyPem,
    publicKeyPem: read('token-pub.pem'),
    header,
    claims: (kind: KitKind) => claims(kind),
    special: Object.fromEntries(
      Object.entries(variants).map(([name, make]) => [name, (kind: KitKind) => token(kind, make(kind))]),
    ),
    revoke: (session: string) => supersedePod(facts.databaseUrl, environmentOf(facts, session).id),
  };
}

function standardClaims({ issuer }: HookFacts, kind: KitKind): Claims {
  const { aud, lifetimeS } = TOKEN_KINDS[KINDS[kind]];
  const iat = Math.floor(Date.now() / 1000);
  return { iss: issuer, aud, iat, exp: iat + lifetimeS, jti: makeId('tok') };
}

/** `hep` is the epoch of the tokens that the proxy takes, `epc` that of the gates'. */
function withEpoch(claims: Claims, epoch: unknown): Claims {
  return { ...claims, [Object.hasOwn(claims, 'epc') ? 'epc' : 'hep']: epoch };
}

function signed(parts: readonly object[], key: ReturnType<typeof createPrivateKey>): string {
  const input = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  const signature = sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' });
  return `${input}.${signature.toString('base64url')}`;
}

function environmentOf(facts: HookFacts, session: string): KitEnvironment {
  const environment = facts.environments[session];
  if (!environment) throw new Error(`no environment plays ${session}`);
  return environment;
}

const KINDS: Readonly<Record<KitKind, TokenKind>> = { proxy: 'egress', gates: 'run', other: 'host' };
const ofPod = ({ id, hostEpoch }: KitEnvironment): Claims => ({ sub: id, hep: hostEpoch, pod: NO_POD });
const OWN: Readonly<Record<KitKind, (environment: KitEnvironment) => Claims>> = {
  proxy: ofPod,
  gates: () => ({ sub: makeId('ses'), trn: makeId('trn'), agt: 'kit', epc: 1 }),
  other: ofPod,
};
