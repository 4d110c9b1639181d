/**
 * Puts the secrets on a request, or nothing goes out: what the client put in the place of a secret is taken out in all
 * its spellings, then the secret is set, once. Knows no protocol version: heads go in and come out as lines. This is
 * where a secret's bytes leave.
 */
import type { Allow } from '../../core-lite/decision.ts';
import type { OpenedSecret } from '../../core-lite/vault/secret-reader.ts';
import { framesOrRoutes } from '../http1/connection-headers.ts';
import { foldName, type HeaderLine, type RequestHead } from '../http1/head.ts';
import { makeLine } from '../http1/write-head.ts';
import { isOverride } from '../overrides.ts';
import { setHeader, touchesHeader, wantSamePlace } from '../places.ts';
import { type Fill, fillPlaceholders } from './placeholder.ts';
import { setParameter } from './query.ts';

/** What of a request a secret may be put into. */
export type RequestParts = Pick<RequestHead, 'method' | 'target' | 'headers'>;

/** What goes out. */
export interface PlacedRequest extends RequestParts {
  /** Which secrets were put on: none where all stand for a placeholder and the client sent nothing in its places. */
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
  const collide = secrets.some((secret, i) =>
    secrets.slice(i + 1).some((other) => wantSamePlace(secret.placement, other.placement)),
  );
  if (secrets.length === 0 || collide) return null;
  const fills = new Map(secrets.flatMap((secret) => fillOf(secret)));
  const filled = fillPlaceholders(request, [...fills.keys()]);
  const target = filled && setParameters(filled.target, secrets);
  if (!filled || target === null) return null;
  return {
    ...request,
    target,
    headers: setHeaders(filled.headers, secrets),
    placed: secrets.filter((secret) => {
      const fill = [...fills].find(([, owner]) => owner === secret)?.[0];
      return fill === undefined || filled.used.has(fill);
    }),
  };
}

/** Whether a trailer of the request may pass: nothing that frames, routes, overrides, authenticates or is injected. */
export function mayTrail(line: HeaderLine, secrets: readonly OpenedSecret[]): boolean {
  const name = foldName(line.name);
  if (framesOrRoutes(name) || isOverride(name) || AUTHENTICATES.test(name)) return false;
  return !secrets.some(({ placement }) => touchesHeader(placement, name));
}

/** What of a placed request bears a secret, by name, as it is spelt there; `:path` for the target. */
export function bearersOf({ headers }: RequestParts, secrets: readonly OpenedSecret[]): string[] {
  const placements = secrets.map(({ placement }) => placement);
  const names = headers.map(({ name }) => name);
  const inTarget = placements.some(
    (each) => each.kind === 'query' || (each.kind === 'replace' && each.query.length > 0),
  );
  return [
    ...names.filter((name) => placements.some((each) => touchesHeader(each, foldName(name)))),
    ...(inTarget ? [':path'] : []),
  ];
}

function setHeaders(headers: readonly HeaderLine[], secrets: readonly OpenedSecret[]): readonly HeaderLine[] {
  const names = new Set(secrets.map(({ placement }) => setHeader(placement)));
  const kept = headers.filter(({ name }) => !names.has(foldName(name)));
  return [...kept, ...secrets.flatMap(formatHeader)];
}

function setParameters(target: string, secrets: readonly OpenedSecret[]): string | null {
  return secrets.reduce<string | null>((sofar, { placement, value }) => {
    if (sofar === null || placement.kind !== 'query') return sofar;
    return setParameter(sofar, placement.name, value.reveal());
  }, target);
}

function formatHeader({ placement, value }: OpenedSecret): HeaderLine[] {
  switch (placement.kind) {
    case 'header':
      return [
        makeLine(
          placement.header,
          placement.format.replace('{}', () => value.reveal()),
        ),
      ];
    case 'basic': {
      const pair = Buffer.from(`${placement.user}:${value.reveal()}`).toString('base64');
      return [makeLine('authorization', `Basic ${pair}`)];
    }
    case 'query':
    case 'replace':
      return [];
    default:
      return placement satisfies never;
  }
}

function fillOf(secret: OpenedSecret): [Fill, OpenedSecret][] {
  const { placement, value } = secret;
  if (placement.kind !== 'replace') return [];
  const { placeholder, headers, query } = placement;
  return [[{ placeholder, headers, query, value: value.reveal() }, secret]];
}

/** An origin that merges trailers into its headers would take one for a credential. */
const AUTHENTICATES = /auth|cookie|key|token/;
