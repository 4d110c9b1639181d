/**
 * What an operator says of a model, judged before it is written: a provider that there is, dialects that it speaks, a
 * URL that is called, fallbacks that there are. What a later change can mend is a warning, the rest is refused.
 */
import type { Queryable } from '../database/pool.ts';
import { Fault } from '../errors.ts';
import { matchesBinding } from '../network/host-pattern.ts';
import { parseHostPatterns } from '../network/policy.ts';
import { parseUpstreamUrl, type UpstreamUrl } from '../network/upstream-url.ts';
import { findProvider, nearestProvider, PROVIDERS, usualDialects } from '../providers/catalogue.ts';
import type { Provider } from '../providers/provider.ts';
import { type CredentialSummary, findCredential } from '../vault/credential-store.ts';
import type { Dialect } from './dialect.ts';
import { isBuiltInName, isModelName, loadModels, type ModelFacts } from './model.ts';

export interface ModelInput {
  /** `custom` when left out. */
  readonly provider?: string;
  /** The provider's own when left out. */
  readonly baseUrl?: string;
  /** All that the provider speaks, but for those that must be named, when left out. */
  readonly dialects?: readonly Dialect[];
  /** The provider's name for it; the model's own when left out. */
  readonly upstreamName?: string;
  /** `vault/name`; a provider that asks for none has none. */
  readonly credential?: string;
  readonly defaultMaxTokens?: number;
  readonly fallbacks?: readonly string[];
}

type ModelRow = Omit<ModelFacts, 'name' | 'createdAt'>;

/** Rejects with Fault `input_invalid`, or `not_found` (its credential). */
export async function readModelInput(
  tx: Queryable,
  name: string,
  input: ModelInput,
): Promise<{ readonly row: ModelRow; readonly warnings: readonly string[] }> {
  if (!isModelName(name)) throw invalid(`"${name}" cannot name a model`);
  const upstreamName = input.upstreamName ?? name;
  if (!isModelName(upstreamName)) throw invalid('upstreamName cannot name a model');
  const provider = readProvider(input.provider ?? 'custom');
  const { url, baseUrl } = readBaseUrl(provider, input.baseUrl);
  const dialects = readDialects(provider, input.dialects);
  const key = input.credential === undefined ? null : await readKey(tx, input.credential);
  const fallbacks = await readFallbacks(tx, name, dialects, input.fallbacks ?? []);
  const { defaultMaxTokens = null } = input;
  const row = {
    provider: provider.name,
    dialects,
    baseUrl,
    upstreamName,
    credentialId: key?.id ?? null,
    defaultMaxTokens,
    fallbacks: fallbacks.names,
  };
  return {
    row,
    warnings: [
      ...warnOfUrl(baseUrl),
      ...warnOfKey(provider, url, key, input.credential),
      ...fallbacks.warnings,
    ],
  };
}

function readProvider(name: string): Provider {
  const provider = findProvider(name);
  if (provider) return provider;
  const close = nearestProvider(name);
  const offer = close
    ? `did you mean ${close}?`
    : `there are ${PROVIDERS.map((each) => each.name).join(', ')}`;
  throw invalid(`there is no such provider: ${offer}`);
}

function readBaseUrl(provider: Provider, given: string | undefined): { url: UpstreamUrl; baseUrl: string } {
  const text = given ?? provider.baseUrl;
  if (text === null) throw invalid(`a model of the provider ${provider.name} needs a base URL`);
  const url = parseUpstreamUrl(text);
  if (typeof url === 'string') throw invalid(`baseUrl: ${url}`);
  // A key in a URL would be stored and shown in the clear.
  if (url.query && !API_VERSION.test(url.query)) {
    throw invalid('baseUrl has a query; write scheme, host and path only, and at most ?api-version=…');
  }
  return { url, baseUrl: text.replace(/\/$/, '') };
}

function readDialects(provider: Provider, given: readonly Dialect[] | undefined): readonly Dialect[] {
  const dialects = [...new Set(given ?? usualDialects(provider))];
  if (dialects.length === 0) throw invalid(`a model of the provider ${provider.name} needs its dialects`);
  const unspoken = dialects.find((dialect) => !provider.services[dialect]);
  if (unspoken === undefined) return dialects;
  const spoken = Object.keys(provider.services).join(', ');
  throw invalid(`the provider ${provider.name} does not speak ${unspoken}, but ${spoken}`);
}

async function readKey(tx: Queryable, credential: string): Promise<CredentialSummary> {
  const [vault = '', name = '', ...rest] = credential.split('/');
  if (rest.length > 0 || !vault || !name) throw invalid('credential is not vault/name');
  const found = await findCredential(tx, vault, name);
  if (MODEL_KINDS.has(found.kind)) return found;
  throw invalid(`${credential} is a ${found.kind}: a model takes a model_key, a bearer or headers`);
}

/** Only the asked model's own list counts: a fallback's fallbacks are never followed, so two may name each other. */
async function readFallbacks(
  tx: Queryable,
  name: string,
  dialects: readonly Dialect[],
  given: readonly string[],
): Promise<{ readonly names: readonly string[]; readonly warnings: readonly string[] }> {
  if (given.includes(name)) throw invalid(`${name} cannot fall back on itself`);
  if (new Set(given).size < given.length) throw invalid('a fallback is named twice');
  const built = given.find(isBuiltInName);
  if (built) throw invalid(`${built} is built in: nothing falls back on it`);
  const models = given.length > 0 ? await loadModels(tx) : [];
  const found = given.map((each) => models.find((model) => model.name === each));
  const missing = given.find((_, place) => !found[place]);
  if (missing) throw invalid(`there is no model ${missing} to fall back on`);
  const idle = given.filter((_, place) => !found[place]?.dialects.some((each) => dialects.includes(each)));
  return {
    names: given,
    warnings: idle.map(
      (each) => `${each} is never fallen back on: it serves none of the dialects ${dialects.join(', ')}`,
    ),
  };
}

/** What documentation shows as the URL is often that of one operation. */
function warnOfUrl(baseUrl: string): string[] {
  const [, operation] = OPERATION.exec(baseUrl) ?? [];
  return operation ? [`the URL ends in ${operation}, which calls add to it once more: leave it out`] : [];
}

/** The credential can be changed afterwards, so this is no refusal. */
function warnOfKey(
  provider: Provider,
  { target: { host, port } }: UpstreamUrl,
  key: CredentialSummary | null,
  name = '',
): string[] {
  if (!key) {
    return provider.name === 'custom' ? [] : [`it has no credential, and ${provider.title} asks for one`];
  }
  if (parseHostPatterns(key.hosts).some((pattern) => matchesBinding(pattern, host, port))) return [];
  const place = port === 443 ? host : `${host}:${port}`;
  return [`its calls will be refused: the hosts of ${name} do not name ${place}`];
}

function invalid(what: string): Fault {
  return new Fault('input_invalid', what);
}

const MODEL_KINDS: ReadonlySet<string> = new Set(['model_key', 'bearer', 'headers']);
const OPERATION =
  /(\/(?:chat\/completions|responses|embeddings|messages)|:(?:stream)?generateContent)\/?(?:\?|$)/i;
const API_VERSION = /^\?api-version=[A-Za-z0-9.-]+$/;
