/**
 * A legacy session's id. It holds all that the gate has to remember of the session, sealed, so that any replica reads
 * it, after a restart too: real clients never recover from an id that is not known any more. It is worth nothing without
 * a run token of the session that it was made for.
 */
import { hash } from 'node:crypto';
import { Secret } from '../../../core-lite/secret.ts';
import type { SealKey } from '../../../core-lite/vault/seal.ts';
import { isJsonObject, type JsonObject } from '../messages.ts';
import type { LEGACY_VERSIONS } from './names.ts';

export interface LegacySession {
  /** Of the run's session. */
  readonly session: string;
  /** As the path names it; `null` for `/mcp`. */
  readonly server: string | null;
  readonly version: (typeof LEGACY_VERSIONS)[number];
  readonly clientInfo: JsonObject | null;
  readonly clientCapabilities: JsonObject;
}

/** A session as a request names it. */
export interface NamedSession extends LegacySession {
  /** By which this gate finds what it holds of it. */
  readonly key: string;
}

/** @returns `null` where the client says more of itself than an id may hold */
export function sealSession(key: SealKey, session: LegacySession): string | null {
  const { version, clientInfo, clientCapabilities } = session;
  const text = JSON.stringify([version, clientInfo, clientCapabilities]);
  if (Buffer.byteLength(text) > MAX_BYTES) return null;
  return key.seal(new Secret(text), place(session)).toString('base64url');
}

/** What the id says, if it was made for this session and this path; else `null`. */
export function openSession(
  key: SealKey,
  id: string,
  of: Pick<LegacySession, 'session' | 'server'>,
): NamedSession | null {
  if (id.length > MAX_BYTES * 2) return null;
  try {
    const text = key.open(Buffer.from(id, 'base64url'), place(of)).reveal();
    const [version, clientInfo, clientCapabilities] = JSON.parse(text) as SealedParts;
    const { session, server } = of;
    return { session, server, version, clientInfo, clientCapabilities, key: keyOf(id) };
  } catch {
    // Made for another one, by another installation, or by nobody.
    return null;
  }
}

/** By which the gates find what they keep of a session; of it alone nobody makes the id. */
export function keyOf(id: string): string {
  return hash('sha256', id, 'base64url');
}

/** What of a client's own words goes into its id: pictures of it do not. */
export function describeClient(info: unknown): JsonObject | null {
  if (!isJsonObject(info)) return null;
  const { icons: _icons, ...rest } = info;
  return rest;
}

type SealedParts = [
  version: LegacySession['version'],
  clientInfo: JsonObject | null,
  clientCapabilities: JsonObject,
];

function place({ session, server }: Pick<LegacySession, 'session' | 'server'>): string {
  return `mcp session ${session} ${server === null ? 'merged' : `server ${server}`}`;
}

/** Node takes 16 KiB of head from a server, and the id is a third longer than what it holds. */
const MAX_BYTES = 6 * 1024;
