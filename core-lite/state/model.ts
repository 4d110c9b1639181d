/**
 * A model of the catalogue: under which name agents ask for it, which dialects it speaks, where it is and which
 * credential it is called with. The operator writes it (`model-store.ts`); the gates read it.
 */
import type { Queryable } from '../database/pool.ts';
import { DIALECTS, type Dialect } from './dialect.ts';

export interface ModelFacts {
  readonly name: string;
  readonly dialects: readonly Dialect[];
  /** A name of `core-lite/providers/`. */
  readonly provider: string;
  /** `null` for a built-in model, which answers by itself. */
  readonly baseUrl: string | null;
  /** The provider's name for it. */
  readonly upstreamName: string;
  readonly credentialId: string | null;
  /** Tokens that are reserved for the output of a call that names no limit. */
  readonly defaultMaxTokens: number | null;
  /** Models that are called in its place, in this order, while nothing of an answer went out. */
  readonly fallbacks: readonly string[];
  readonly createdAt: Date;
}

/** A model that is part of the gates: it needs no account anywhere, so that something works on a fresh installation. */
function builtIn(name: string): ModelFacts {
  return {
    name,
    dialects: DIALECTS,
    provider: 'fixture',
    baseUrl: null,
    upstreamName: name,
    credentialId: null,
    defaultMaxTokens: null,
    fallbacks: [],
    createdAt: new Date(0),
  };
}

/** Answers what it was asked. */
export const ECHO_MODEL: ModelFacts = builtIn('fixture/echo');

/** Every built-in model: `echo` repeats, `tools` calls the first tool that it is offered, `slow` takes its time. */
export const BUILT_IN_MODELS: readonly ModelFacts[] = [
  ECHO_MODEL,
  builtIn('fixture/tools'),
  builtIn('fixture/slow'),
];

/** Whether the name is, or may one day be, a built-in model's. */
export function isBuiltInName(name: string): boolean {
  return name.startsWith('fixture/');
}

/**
 * Whether `text` can name a model: it stands in bodies, on command lines, in the notices of the change feed and, at some
 * providers, in the path.
 */
export function isModelName(text: string): boolean {
  return MODEL_NAME.test(text) && !UNSTEADY.test(text);
}

/** The model, or `null`. Rejects with Fault `database_unreachable`. */
export async function loadModel(db: Queryable, name: string): Promise<ModelFacts | null> {
  if (isBuiltInName(name)) return BUILT_IN_MODELS.find((model) => model.name === name) ?? null;
  const [row] = await db.query<ModelFacts>(`${SELECT} WHERE name = $1`, [name]);
  return row ?? null;
}

/** Every model, the built-in ones first, then by name. */
export async function loadModels(db: Queryable): Promise<readonly ModelFacts[]> {
  const rows = await db.query<ModelFacts>(`${SELECT} ORDER BY name`);
  return [...BUILT_IN_MODELS, ...rows.filter(({ name }) => !isBuiltInName(name))];
}

const MODEL_NAME = /^[A-Za-z0-9][\w.:@/-]{0,127}$/;
/** In a path these are steps, or read in two ways. */
const UNSTEADY = /\/\/|(?:^|\/)\.{1,2}(?:\/|$)/;
const SELECT = `SELECT name, dialects, provider, base_url AS "baseUrl", upstream_name AS "upstreamName",
  credential_id AS "credentialId", default_max_tokens AS "defaultMaxTokens", fallbacks, created_at AS "createdAt" FROM models`;
