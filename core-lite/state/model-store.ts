/** The catalogue of models as the operator writes and lists it. What is judged of the input is in `model-input.ts`. */
import type { Queryable } from '../database/pool.ts';
import { Fault, NoSuch } from '../errors.ts';
import type { Dialect } from './dialect.ts';
import { isBuiltInName, loadModels } from './model.ts';
import { type ModelInput, readModelInput } from './model-input.ts';

export interface ModelSummary {
  readonly name: string;
  readonly builtIn: boolean;
  readonly provider: string;
  readonly dialects: readonly Dialect[];
  readonly baseUrl: string | null;
  readonly upstreamName: string;
  /** `vault/name`; a removed credential is named by its id. */
  readonly credential: string | null;
  readonly defaultMaxTokens: number | null;
  readonly fallbacks: readonly string[];
  readonly createdAt: Date;
}

/** A model that was put, and what will keep calls from it, one line each. */
export interface PutModel extends ModelSummary {
  readonly warnings: readonly string[];
}

/** Makes or replaces a model. Rejects with Fault `input_invalid`, `conflict` or `not_found` (its credential). */
export async function putModel(tx: Queryable, name: string, input: ModelInput): Promise<PutModel> {
  refuseBuiltIn(name);
  const { row, warnings } = await readModelInput(tx, name, input);
  await tx.query(
    `INSERT INTO models (name, provider, dialects, base_url, upstream_name, credential_id, default_max_tokens, fallbacks)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
     ON CONFLICT (name) DO UPDATE SET provider = $2, dialects = $3, base_url = $4, upstream_name = $5,
       credential_id = $6, default_max_tokens = $7, fallbacks = $8, updated_at = now()`,
    [
      name,
      row.provider,
      row.dialects,
      row.baseUrl,
      row.upstreamName,
      row.credentialId,
      row.defaultMaxTokens,
      row.fallbacks,
    ],
  );
  return { ...(await findModel(tx, name)), warnings };
}

/** Rejects with Fault `not_found`. */
export async function findModel(db: Queryable, name: string): Promise<ModelSummary> {
  const found = (await listModels(db)).find((model) => model.name === name);
  if (!found) throw new NoSuch('model', name);
  return found;
}

/** The built-in ones first, then by name. */
export async function listModels(db: Queryable): Promise<ModelSummary[]> {
  const names = await db.query<{ id: string; name: string }>(
    `SELECT c.id, v.name || '/' || c.name AS name FROM credentials c JOIN vaults v ON v.id = c.vault_id
      WHERE c.id IN (SELECT credential_id FROM models)`,
  );
  return (await loadModels(db)).map(({ credentialId, ...model }) => ({
    ...model,
    builtIn: model.baseUrl === null,
    credential: names.find(({ id }) => id === credentialId)?.name ?? credentialId,
  }));
}

/** Rejects with Fault `not_found`. A model that falls back on it does without it. */
export async function removeModel(tx: Queryable, name: string): Promise<void> {
  refuseBuiltIn(name);
  const gone = await tx.query('DELETE FROM models WHERE name = $1 RETURNING name', [name]);
  if (gone.length === 0) throw new NoSuch('model', name);
}

function refuseBuiltIn(name: string): void {
  if (isBuiltInName(name)) throw new Fault('conflict', `${name} is built in and stays as it is`);
}
