/**
 * The rules that the layer check holds: who may import whom, and what only some files may do, each exception with its
 * reason. An exception that is not needed any more is a violation too, so the lists stay short.
 */
import type { Source, Use } from './source.ts';

/** What is wrong with a file apart from its imports, one line each. */
export function judgeSource(source: Source): string[] {
  const { path, lines, fault, uses } = source;
  const layer = layerOf(path);
  if (!(layer in LAYERS))
    return [`${path}: ${layer}/ is in no layer: name its arrows in test/layers/rules.ts`];
  if (fault !== null) return [`${path}: cannot be read: ${fault}`];
  const most = layer === 'test' ? MAX_TEST_LINES : MAX_LINES;
  const long = lines > most && !(path in LONG_FILES);
  return [
    ...(long ? [`${path}: ${lines} lines, ${most} are the most: split it`] : []),
    ...uses.flatMap((use) => judgeUse(path, layer, use)),
    ...idleExceptions(source),
  ];
}

/** What is wrong with one file of ours importing another. */
export function judgeArrow(from: string, target: string): string[] {
  const [layer, other] = [layerOf(from), layerOf(target)];
  if (layer === other || target === 'package.json') return [];
  const allowed = LAYERS[layer] ?? [];
  if (allowed.some((each) => each === other || target.startsWith(`${each}/`))) return [];
  return [
    `imports ${target}: ${layer} may import ${allowed.length > 0 ? allowed.join(', ') : 'nothing of ours'}`,
  ];
}

/** Whether a file may import what is only known when it runs: the launchers and tests run what they are given. */
export function mayCompute(path: string): boolean {
  return isLauncher(path) || layerOf(path) === 'test';
}

function judgeUse(path: string, layer: string, { what, line }: Use): string[] {
  // Tests make decisions and proofs to test with, and hold no operator's secret.
  const rule = layer === 'test' ? undefined : USES[what];
  if (!rule || rule.may(path)) return [];
  return [`${path}:${line}: ${rule.what}`];
}

function idleExceptions({ path, lines, uses }: Source): string[] {
  const idle = [
    ...(path in LONG_FILES && lines <= MAX_LINES ? ['LONG_FILES'] : []),
    ...(path in REVEALERS && !uses.some(({ what }) => what === 'reveal') ? ['REVEALERS'] : []),
  ];
  return idle.map((list) => `${path}: needs no exception any more: take it out of ${list}`);
}

/** Plain JavaScript that runs before the pinned Node does. */
function isLauncher(path: string): boolean {
  return /^cli\/[^/]+\.mjs$/.test(path);
}

function layerOf(path: string): string {
  return path.split('/', 1)[0] ?? '';
}

interface Rule {
  readonly what: string;
  readonly may: (path: string) => boolean;
}

/** Layer, or folder of one, by layer: what it may import beside itself and packages. */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  certs: [],
  'core-lite': [],
  gates: ['core-lite'],
  egress: ['core-lite', 'certs'],
  // The pod's side runs beside the workload: of core it knows only what goes over the wire.
  pod: ['core-lite/wire'],
  cli: ['certs', 'core-lite', 'gates', 'egress', 'pod', 'test'],
  test: ['certs', 'core-lite', 'gates', 'egress', 'pod', 'cli'],
};

/** Files that may be longer, and why. */
export const LONG_FILES: Readonly<Record<string, string>> = {};

/** Files that may open a secret, and why: where its bytes leave, are sealed, hashed or parsed. */
export const REVEALERS: Readonly<Record<string, string>> = {
  'core-lite/api/admin-keys.ts': 'answers with a new admin key, once',
  'core-lite/api/leases.ts': 'answers with the tokens of a run',
  'core-lite/api/service-tokens.ts': 'answers with the token, once',
  'egress/act/inject.ts': 'puts the secret on the request',
  'egress/scrub/forms.ts': 'makes the forms that are looked for in an answer',
  'egress/authority.ts': 'opens the key of the egress CA',
  'egress/parent/absolute-form.ts': 'sends the login of the parent proxy to it',
  'egress/parent/http-connect.ts': 'sends the login of the parent proxy to it',
  'egress/parent/socks-connect.ts': 'sends the login of the parent proxy to it',
  'gates/act/credential.ts': 'puts the credential on the request',
  'gates/mcp/letters.ts': 'parses the letter that another gate sealed',
  'gates/mcp/downstream/session-store.ts':
    'parses what a client set in its session; nothing in it is a credential',
  'gates/mcp/downstream/session-id.ts': 'parses the session id that it sealed; nothing in it is a credential',
  'gates/mcp/downstream/request-state.ts': 'parses the round’s state that it sealed',
  'core-lite/vault/pod-variables.ts': 'opens plain variables, which are no secrets and go into the pod',
  'core-lite/record/mcp-upstreams.ts':
    'parses what it sealed: of a server’s session id, only the connection learns',
  'core-lite/record/replica-name.ts': 'proves to the database which replica asks',
  'core-lite/record/crossing-seal.ts': 'opens the kept answer of a call, for whoever asks again',
  'core-lite/database/pool.ts': 'logs in: the URL goes to the driver',
  'core-lite/vault/seal.ts': 'seals',
  'core-lite/vault/class-keys.ts':
    'makes a key of an opened seal; writes the one line of an export, itself a secret',
  'core-lite/vault/master-key.ts': 'makes a key of the setting',
  'core-lite/vault/oauth-request.ts': 'encodes the form of a token request, itself a secret',
  'core-lite/vault/oauth-answer.ts': 'parses what a token endpoint answered',
  'egress/oauth-send.ts': 'sends the token request',
  'core-lite/vault/credential.ts': 'judges length and characters; packs the parts into the one text to seal',
  'core-lite/tokens/signing-keys.ts': 'makes a key of PEM',
  'core-lite/state/admin.ts': 'hashes the admin key',
  'core-lite/api/environments.ts': 'the one answer that is a token',
  'cli/api.ts': 'sends the admin key, and the values that a command was given',
  'cli/up/ask.ts': 'sends the admin key',
  'cli/up/installation.ts': 'hands the database’s URL to the services; keeps the admin key in its file, 0600',
  'cli/commands/keys-master.ts': 'prints an exported class key: what the command is for',
  'cli/commands/migrate.ts': 'prints the first admin key, which nobody can read again',
};

const MADE_IN_DECIDE: Rule = {
  what: 'makes a decision: only decide/ does',
  may: (path) => path.includes('/decide/'),
};
const USES: Readonly<Record<string, Rule>> = {
  'make Allow': MADE_IN_DECIDE,
  'make Deny': MADE_IN_DECIDE,
  'make VerifiedToken': {
    what: 'makes a verified token: only core-lite/tokens/verify.ts does',
    may: (path) => path === 'core-lite/tokens/verify.ts',
  },
  reveal: {
    what: 'opens a secret: pass it on closed, or name the file and its reason in test/layers/rules.ts',
    may: (path) => path in REVEALERS,
  },
  environment: {
    what: 'reads the environment: only core-lite/config.ts does',
    may: (path) => path === 'core-lite/config.ts' || isLauncher(path),
  },
};

/** The figures. */
const MAX_LINES = 300;
const MAX_TEST_LINES = 500;
