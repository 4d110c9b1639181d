/**
 * The places on a request that secrets are put in: headers by their folded names, query parameters in all encodings of
 * theirs. The decision asks here whether two secrets want the same place, the act what the client put there.
 */
import type { Placement } from '../core-lite/vault/placement.ts';
import { foldName } from './http1/head.ts';

/** Headers that are set, folded. */
export function setHeader(placement: Placement): string | null {
  if (placement.kind === 'header') return foldName(placement.header);
  return placement.kind === 'basic' ? 'authorization' : null;
}

/** Whether a placement sets or rewrites this header. @param name folded */
export function touchesHeader(placement: Placement, name: string): boolean {
  if (placement.kind !== 'replace') return setHeader(placement) === name;
  return placement.headers.some((header) => foldName(header) === name);
}

/** Whether two cannot both be put on: they set the same place, or one sets what the other rewrites. */
export function wantSamePlace(one: Placement, other: Placement): boolean {
  if (one.kind === 'replace' && other.kind === 'replace') {
    return one.placeholder === other.placeholder && sharePlace(one, other);
  }
  return sharePlace(one, other);
}

/**
 * Whether an origin may take a client's parameter for this one: in any percent-encoding, in another case, and as PHP
 * and Rails read names (`a.b`, `a b` and `a[b` are `a_b`; `a[]` and `a[0]` are `a`).
 * @param written as it stands in the query
 */
export function namesParameter(written: string, name: string): boolean {
  const plain = decodeParameter(written).toLowerCase();
  const wanted = name.toLowerCase();
  return plain === wanted || foldParameter(plain) === foldMarks(wanted);
}

/** The text of a name or value in a query; each byte a latin1 character. */
export function decodeParameter(written: string): string {
  return written
    .replaceAll('+', ' ')
    .replace(/%([0-9A-Fa-f]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
}

function sharePlace(one: Placement, other: Placement): boolean {
  const headers = headersOf(one).some((name) => touchesHeader(other, foldName(name)));
  return (
    headers || parametersOf(one).some((name) => parametersOf(other).some((own) => namesParameter(own, name)))
  );
}

function headersOf(placement: Placement): readonly string[] {
  if (placement.kind === 'replace') return placement.headers;
  const name = setHeader(placement);
  return name === null ? [] : [name];
}

function parametersOf(placement: Placement): readonly string[] {
  if (placement.kind === 'replace') return placement.query;
  return placement.kind === 'query' ? [placement.name] : [];
}

function foldParameter(plain: string): string {
  const name = plain.replace(/\0.*$/s, '').replace(/^ +/, '');
  return foldMarks(/^[^[]+\[.*\]/s.test(name) ? name.slice(0, name.indexOf('[')) : name.replaceAll('[', '_'));
}

function foldMarks(name: string): string {
  return name.replace(/[ .]/g, '_');
}
