/** The catalogue of models as the operator writes and lists it. */
import type { Queryable } from '../database/pool.ts';
import { Fault, NoSuch } from '../errors.ts';
import { parseUpstreamUrl } from '../network/upstream-url.ts';
import { findCredential } from '../vault/credential-store.ts';
import type { Dialect } from './dialect.ts';
import { ECHO_MODEL, isModelName, loadModels } from './model.ts';

export interface ModelInput {
  /** The provider's base URL. */
  readonly baseUrl: string;
  readonly dialects: readonly Dialect[];
  /** The provider's name for it; the model's own when left out. */
  readonly upstreamName?: string;
  /** `vault/name`; a provider that asks for none has none. */
  readonly credential?: string;
}

export interface ModelSummary {
  readonly name: string;
  readonly builtIn: boolean;
  readonly dialects: readonly Dialect[];
  readonly baseUrl: string | null;
  readonly upstreamName: string;
  /** `vault/name`; a removed credential is named by its id. */
  readonly credential: string | null;
  readonly createdAt: Date;
}

/** Makes or replaces a model. Rejects with Fault `input_invalid`, or `not_found` (its credential). */
export async function putModel(tx: Queryable, name: string, input: ModelInput): Promise<ModelSummary> {
  refuseBuiltIn(name);
  if (!isModelName(name)) throw new Fault('input_invalid', `"${name}" cannot name a model`);
  const upstreamName = input.upstreamName ?? name;
  if (!isModelName(upstreamName)) throw new Fault('input_invalid', 'upstreamName cannot name a model');
  const url = parseUpstreamUrl(input.baseUrl);
  if (typeof url === 'string') throw new Fault('input_invalid', `baseUrl: ${url}`);
  if (url.query) throw new Fault('input_invalid', 'baseUrl has a query; write scheme, host and path only');
  const credentialId = input.credential === undefined ? null : await findKey(tx, input.credential);
  await tx.query(
    `INSERT INTO models (name, dialects, base_url, upstream_name, credential_id) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (name) DO UPDATE SET dialects = $2, base_url = $3, upstream_name = $4, credential_id = $5,
       updated_at = now()`,
    [name, [...new Set(input.dialects)], input.baseUrl.replace(/\/$/, ''), upstreamName, credentialId],
  );
  return findModel(tx, name);
}

/** Rejects with Fault `not_found`. */
export async function findModel(db: Queryable, name: string): Promise<ModelSummary> {
  const found = (await listModels(db)).find((model) => model.name === name);
  if (!found) throw new NoSuch('model', name);
  return found;
}

/** By name, the built-in one first. */
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

/** Rejects with Fault `not_found`. */
export async function removeModel(tx: Queryable, name: string): Promise<void> {
  refuseBuiltIn(name);
  const gone = await tx.query('DELETE FROM models WHERE name = $1 RETURNING name', [name]);
  if (gone.length === 0) throw new NoSuch('model', name);
}

async function findKey(tx: Queryable, credential: string): Promise<string> {
  const [vault = '', name = '', ...rest] = credential.split('/');
  if (rest.length > 0 || !vault || !name) throw new Fault('input_invalid', 'credential is not vault/name');
  const { id, kind } = await findCredential(tx, vault, name);
  if (kind !== 'model_key' && kind !== 'bearer' && kind !== 'headers') {
    throw new Fault(
      'input_invalid',
      `${credential} is a ${kind}: a model takes a model_key, a bearer or headers`,
    );
  }
  return id;
}

function refuseBuiltIn(name: string): void {
  if (name === ECHO_MODEL.name) throw new Fault('conflict', `${name} is built in and stays as it is`);
}
