/**
 * Puts the secrets on a request, or nothing goes out: every client value of an injected header is taken out in all its
 * spellings, then the secret is set, once. Knows no protocol version: heads go in and come out as lines. This is where a
 * secret's bytes leave.
 */
import type { Allow } from '../../core-lite/decision.ts';
import type { OpenedSecret } from '../../core-lite/vault/secret-reader.ts';
import { framesOrRoutes } from '../http1/connection-headers.ts';
import { foldName, type HeaderLine, type RequestHead } from '../http1/head.ts';
import { makeLine } from '../http1/write-head.ts';

/** What of a request a secret may be put into. */
export type RequestParts = Pick<RequestHead, 'method' | 'target' | 'headers'>;

/** What goes out. */
export interface PlacedRequest extends RequestParts {
  /** Which secrets were put on. */
  readonly placed: readonly OpenedSecret[];
}

/**
 * The request with its secrets, and without what the client put in their place.
 * @param _proof that the exchange was allowed
 * @param request without the headers of its connection
 * @returns `null` where a secret cannot be put on
 */
export function placeSecrets(
  _proof: Allow,
  request: RequestParts,
  secrets: readonly OpenedSecret[],
): PlacedRequest | null {
  const lines = secrets.map(formatSecret);
  const injected = new Set(lines.map((line) => line && foldName(line.name)));
  if (secrets.length === 0 || injected.has(null) || injected.size !== secrets.length) return null;
  const kept = request.headers.filter(({ name }) => !injected.has(foldName(name)));
  return { ...request, headers: [...kept, ...lines.filter((line) => line !== null)], placed: secrets };
}

/** Whether a trailer of the request may pass: nothing that frames, routes, authenticates or is injected. */
export function mayTrail(line: HeaderLine, secrets: readonly OpenedSecret[]): boolean {
  const name = foldName(line.name);
  if (framesOrRoutes(name) || AUTHENTICATES.test(name)) return false;
  return !secrets.some((secret) => formatSecret(secret)?.name === name);
}

function formatSecret({ placement, value }: OpenedSecret): HeaderLine | null {
  if (placement.kind !== 'header') return null;
  return makeLine(
    placement.header,
    placement.format.replace('{}', () => value.reveal()),
  );
}

/** An origin that merges trailers into its headers would take one for a credential. */
const AUTHENTICATES = /auth|cookie|key|token/;
