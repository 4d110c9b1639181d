/**
 * Credentials of every kind, and what is asked of each. A credential splits in two: `settings`, which may be read, and
 * the secret part, which is sealed. Every credential names the hosts that it may go to.
 */
import { Fault } from '../errors.ts';
import { formatHostPattern, parseHostPattern } from '../network/host-pattern.ts';
import { Secret } from '../secret.ts';
import { OAUTH_SETTINGS, type OauthInput, readOauthSettings } from './oauth-settings.ts';
import {
  checkHeader,
  HEADER_VALUE,
  type PlacementInput,
  parsePlacement,
  SENTINEL,
  type StoredPlacement,
} from './placement.ts';
import { NO_RULES, parseRules, type RequestRules } from './request-rules.ts';
import { checkValueSource, isVariableName } from './value-source.ts';

export const CREDENTIAL_KINDS = [
  'model_key',
  'bearer',
  'headers',
  'oauth',
  'environment_secret',
  'environment_variable',
] as const;
export type CredentialKind = (typeof CREDENTIAL_KINDS)[number];

/** A credential as an operator gives it. `secret` has one part for most kinds, several for `headers` and `oauth`. */
export interface CredentialInput extends OauthInput {
  readonly kind: CredentialKind;
  readonly hosts: readonly string[];
  /** Whose it is, when it is one person's. */
  readonly user?: string;
  /** environment_secret, environment_variable, perhaps oauth: the variable's name in the pod. */
  readonly variable?: string;
  /** environment_secret, oauth with a variable: how it is put on a request, and which requests it may go on. */
  readonly placement?: PlacementInput;
  readonly rules?: Partial<RequestRules>;
  /** environment_secret: where egress reads its value, `env:NAME` or `file:PATH`, when it is not in the vault. */
  readonly valueFrom?: string;
  /** Secret parts by name: `value`; for headers each header's name; for oauth `client_secret` and `refresh_token`. */
  readonly secret: Readonly<Record<string, Secret>>;
}

/** A checked credential, ready to be sealed and stored. */
export interface Credential {
  readonly kind: CredentialKind;
  readonly hosts: readonly string[];
  readonly user: string | null;
  readonly settings: Readonly<Record<string, unknown>>;
  /** `null` where the value is not in the vault. */
  readonly secret: Secret | null;
}

/** What an environment secret's row says of how it is used, as any version of this program may have written it. */
export interface StoredSecretSettings {
  readonly variable: string;
  readonly placement: StoredPlacement;
  readonly rules?: RequestRules;
  readonly valueFrom?: string;
}

/** Throws Fault `input_invalid` with the first thing that is wrong. */
export function parseCredential(input: CredentialInput): Credential {
  if (input.hosts.length === 0) throw invalid('a credential names the hosts it may go to: at least one');
  refuseForeignSettings(input);
  return {
    kind: input.kind,
    hosts: input.hosts.map(parseHost),
    user: input.user ?? null,
    settings: readSettings(input),
    secret: input.valueFrom === undefined ? packSecret(input.kind, input.secret) : packNothing(input.secret),
  };
}

/** Checks the secret parts that this kind has, and packs them into the one text that is sealed. */
export function packSecret(kind: CredentialKind, parts: Readonly<Record<string, Secret>>): Secret {
  const names = Object.keys(parts);
  const { required, optional } = SECRET_PARTS[kind];
  for (const name of required)
    if (!parts[name]) throw invalid(`${kind} credentials need the secret part "${name}"`);
  if (kind === 'headers') {
    if (names.length === 0) throw invalid('a headers credential needs at least one header');
    for (const name of names) checkHeader(name);
    if (new Set(names.map((name) => name.toLowerCase())).size < names.length)
      throw invalid('a header is named twice');
  } else {
    const strange = names.find((name) => !required.includes(name) && !optional.includes(name));
    if (strange) throw invalid(`${kind} credentials have no secret part "${strange}"`);
  }
  for (const [name, part] of Object.entries(parts)) checkSecretValue(kind, name, part);
  return new Secret(JSON.stringify(Object.fromEntries(names.map((name) => [name, parts[name]?.reveal()]))));
}

function packNothing(parts: Readonly<Record<string, Secret>>): null {
  if (Object.keys(parts).length === 0) return null;
  throw invalid(
    'a credential has its value in the vault or from elsewhere: give secret or valueFrom, not both',
  );
}

/** The secret parts of a credential, from its opened seal. */
export function unpackSecret(opened: Secret): Readonly<Record<string, Secret>> {
  const parts = JSON.parse(opened.reveal()) as Record<string, string>;
  return Object.fromEntries(Object.entries(parts).map(([name, value]) => [name, new Secret(value)]));
}

function checkSecretValue(kind: CredentialKind, name: string, value: Secret): void {
  const text = value.reveal();
  const fault = kind === 'environment_variable' ? variableFault(text) : secretFault(text);
  if (fault !== null) throw invalid(`the secret "${name}" ${fault}`);
}

/** What is wrong with the value of a secret; `null` where it will do. Never repeats it. */
export function secretFault(text: string): string | null {
  // Every value must be long enough to be told from ordinary text.
  if (Buffer.byteLength(text) < MIN_SECRET_BYTES) return `is shorter than ${MIN_SECRET_BYTES} bytes`;
  const fault = variableFault(text);
  if (fault !== null) return fault;
  return HEADER_VALUE.test(text) ? null : 'has characters that a header cannot carry (a line end?)';
}

/** A plain variable is no secret: it may be short, and is put on nothing. */
function variableFault(text: string): string | null {
  if (Buffer.byteLength(text) > MAX_SECRET_BYTES) return `is longer than ${MAX_SECRET_BYTES} bytes`;
  if (text.includes('\0')) return 'has a NUL, which no variable or header can carry';
  return text === SENTINEL ? 'is the sentinel, not a secret' : null;
}

function readSettings(input: CredentialInput): Record<string, unknown> {
  switch (input.kind) {
    case 'model_key':
    case 'bearer':
      return {};
    case 'headers':
      return { headers: Object.keys(input.secret) };
    case 'oauth':
      return readOauth(input);
    case 'environment_secret':
      return {
        ...readBound(input),
        ...(input.valueFrom === undefined ? {} : { valueFrom: checkValueSource(input.valueFrom) }),
      };
    case 'environment_variable':
      return { variable: readVariable(input) };
    default:
      return input.kind satisfies never;
  }
}

/** With a variable its tokens are put on requests as an environment secret is; without one it is the gates'. */
function readOauth(input: CredentialInput): Record<string, unknown> {
  const settings = readOauthSettings(input, input.secret['refresh_token'] !== undefined);
  if (input.variable !== undefined) return { ...settings, ...readBound(input) };
  if (input.placement ?? input.rules)
    throw invalid('an oauth credential with a placement or rules needs a variable');
  return { ...settings };
}

/** What a credential says that is put on requests. */
function readBound(input: CredentialInput): Record<string, unknown> {
  return {
    variable: readVariable(input),
    placement: parsePlacement(input.placement),
    ...readRules(input.rules),
  };
}

function readVariable(input: CredentialInput): string {
  if (!input.variable || !isVariableName(input.variable)) {
    throw invalid(`an ${input.kind} needs variable, a name of letters, digits and _`);
  }
  return input.variable;
}

/** A credential without rules has no word of them. */
function readRules(input: Partial<RequestRules> = NO_RULES): { readonly rules?: RequestRules } {
  const rules = parseRules(input);
  return rules.paths.length + rules.methods.length > 0 ? { rules } : {};
}

function refuseForeignSettings(input: CredentialInput): void {
  const allowed = SETTINGS_OF[input.kind];
  for (const name of ['variable', 'placement', 'rules', 'valueFrom', ...OAUTH_SETTINGS] as const) {
    if (input[name] !== undefined && !allowed.includes(name))
      throw invalid(`${input.kind} credentials have no ${name}`);
  }
}

function parseHost(text: string): string {
  const pattern = parseHostPattern(text);
  if ('message' in pattern) throw invalid(pattern.message);
  return formatHostPattern(pattern);
}

function invalid(what: string): Fault {
  return new Fault('input_invalid', what);
}

const SECRET_PARTS: Readonly<
  Record<CredentialKind, { required: readonly string[]; optional: readonly string[] }>
> = {
  model_key: { required: ['value'], optional: [] },
  bearer: { required: ['value'], optional: [] },
  headers: { required: [], optional: [] },
  oauth: { required: ['client_secret'], optional: ['refresh_token'] },
  environment_secret: { required: ['value'], optional: [] },
  environment_variable: { required: ['value'], optional: [] },
};
const SETTINGS_OF: Readonly<Record<CredentialKind, readonly string[]>> = {
  model_key: [],
  bearer: [],
  headers: [],
  oauth: ['variable', 'placement', 'rules', ...OAUTH_SETTINGS],
  environment_secret: ['variable', 'placement', 'rules', 'valueFrom'],
  environment_variable: ['variable'],
};
/** Shorter values would be found in ordinary text when a response is masked. */
const MIN_SECRET_BYTES = 8;
const MAX_SECRET_BYTES = 16_384;
