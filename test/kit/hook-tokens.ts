/**
 * The tokens of the hostile kit's hooks: what a good one is made of, and the variants that only the product's state
 * tells from it. Hooks are loaded into the kit's own process; what they know of the running product lies in a file.
 */
import { createPrivateKey, type KeyObject, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeId } from '../../core-lite/id.ts';
import { TOKEN_KINDS, type TokenKind } from '../../core-lite/tokens/token-kinds.ts';

/** The kit's word for a kind of token: the egress', the gates', or one that is neither. */
export type KitKind = 'proxy' | 'gates' | 'other';
export type Claims = Readonly<Record<string, unknown>>;

/** What every hook knows. */
export interface TokenFacts {
  readonly issuer: string;
  readonly kid: string;
  /** By the kit's name of a run, `session-1` and so on: its claims beside those that every token has. */
  readonly claims: Readonly<Record<string, Readonly<Record<KitKind, Claims>>>>;
}

/** The stage, as a hook is given it. */
export interface HookStage {
  readonly dir: string;
}

/** What the kit runner left for the hook. */
export function readFacts<Facts extends TokenFacts>({ dir }: HookStage): Facts {
  return JSON.parse(readFileSync(factsFile(join(dir, '..')), 'utf8')) as Facts;
}

/** @param folder the run's, in which the stage has one of its own */
export function factsFile(folder: string): string {
  return join(folder, 'facts.json');
}

/** The part of a hook that makes tokens. */
export function makeTokens(facts: TokenFacts, { dir }: HookStage) {
  const read = (name: string): string => readFileSync(join(dir, name), 'utf8');
  const privateKeyPem = read('token-key.pem');
  const key = createPrivateKey(privateKeyPem);
  const header = (kind: KitKind) => ({ alg: 'ES256', typ: TOKEN_KINDS[KINDS[kind]].typ, kid: facts.kid });
  const claims = (kind: KitKind, session = GOOD): Claims => {
    const own = facts.claims[session]?.[kind];
    if (!own) throw new Error(`nothing plays ${session}`);
    return { ...standardClaims(facts, kind), ...own };
  };
  const variants: Record<string, (kind: KitKind) => Claims> = {
    'epoch-old': (kind) => changeEpoch(claims(kind), (epoch) => epoch - 1),
    'epoch-future': (kind) => changeEpoch(claims(kind), (epoch) => epoch + 1000),
    'epoch-missing': (kind) => changeEpoch(claims(kind), () => undefined),
    'epoch-string': (kind) => changeEpoch(claims(kind), String),
    'session-unknown': (kind) => ({ ...claims(kind), sub: makeId(kind === 'gates' ? 'ses' : 'env') }),
  };
  for (const session of Object.keys(facts.claims)) {
    if (session !== GOOD) variants[session] = (kind) => claims(kind, session);
  }
  return {
    privateKeyPem,
    publicKeyPem: read('token-pub.pem'),
    header,
    claims: (kind: KitKind) => claims(kind),
    special: Object.fromEntries(
      Object.entries(variants).map(([name, make]) => [
        name,
        (kind: KitKind) => signed([header(kind), make(kind)], key),
      ]),
    ),
  };
}

function standardClaims({ issuer }: TokenFacts, kind: KitKind): Claims {
  const { aud, lifetimeS } = TOKEN_KINDS[KINDS[kind]];
  const iat = Math.floor(Date.now() / 1000);
  return { iss: issuer, aud, iat, exp: iat + lifetimeS, jti: makeId('tok') };
}

/** `hep` is the epoch of the tokens that the proxy takes, `epc` that of the gates'. */
function changeEpoch(claims: Claims, change: (epoch: number) => unknown): Claims {
  const name = Object.hasOwn(claims, 'epc') ? 'epc' : 'hep';
  return { ...claims, [name]: change(Number(claims[name])) };
}

function signed(parts: readonly object[], key: KeyObject): string {
  const input = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  const signature = sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' });
  return `${input}.${signature.toString('base64url')}`;
}

/** Whose tokens are good. */
const GOOD = 'session-1';
const KINDS: Readonly<Record<KitKind, TokenKind>> = { proxy: 'egress', gates: 'run', other: 'host' };
