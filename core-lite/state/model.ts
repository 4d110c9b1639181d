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
  /** `null` for the built-in model, which answers by itself. */
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

/** Answers what it was asked, with no account anywhere, so that something works on a fresh installation. */
export const ECHO_MODEL: ModelFacts = {
  name: 'fixture/echo',
  dialects: DIALECTS,
  provider: 'fixture',
  baseUrl: null,
  upstreamName: 'fixture/echo',
  credentialId: null,
  defaultMaxTokens: null,
  fallbacks: [],
  createdAt: new Date(0),
};

/** Whether `text` can name a model: it stands in bodies, on command lines and in the notices of the change feed. */
export function isModelName(text: string): boolean {
  return MODEL_NAME.test(text);
}

/** The model, or `null`. Rejects with Fault `database_unreachable`. */
export async function loadModel(db: Queryable, name: string): Promise<ModelFacts | null> {
  if (name === ECHO_MODEL.name) return ECHO_MODEL;
  const [row] = await db.query<ModelFacts>(`${SELECT} WHERE name = $1`, [name]);
  return row ?? null;
}

/** Every model, by name, the built-in one among them. */
export async function loadModels(db: Queryable): Promise<readonly ModelFacts[]> {
  const rows = await db.query<ModelFacts>(`${SELECT} ORDER BY name`);
  return [ECHO_MODEL, ...rows];
}

const MODEL_NAME = /^[A-Za-z0-9][\w.:@/-]{0,127}$/;
const SELECT = `SELECT name, dialects, provider, base_url AS "baseUrl", upstream_name AS "upstreamName",
  credential_id AS "credentialId", default_max_tokens AS "defaultMaxTokens", fallbacks, created_at AS "createdAt" FROM models`;
