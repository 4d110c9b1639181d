/**
 * Ids: a prefix that says what it is, and a UUIDv7 in hex, so that ids sort by time. They are names, never secrets.
 */
import { v7 } from 'uuid';

export type IdPrefix =
  | 'adk'
  | 'aev'
  | 'aut'
  | 'bud'
  | 'con'
  | 'crs'
  | 'crd'
  | 'env'
  | 'flt'
  | 'ref'
  | 'rep'
  | 'ses'
  | 'tnt'
  | 'tok'
  | 'trn'
  | 'exc'
  | 'usg'
  | 'vlt';

/** A new id, for example `env_0199f3a2c4d87e0b9c3f1a2b3c4d5e6f`. */
export function makeId(prefix: IdPrefix): string {
  return `${prefix}_${v7().replaceAll('-', '')}`;
}

/** Whether `text` has the shape of an id with this prefix. */
export function isId(prefix: IdPrefix, text: unknown): text is string {
  return (
    typeof text === 'string' && text.startsWith(`${prefix}_`) && HEX_32.test(text.slice(prefix.length + 1))
  );
}

const HEX_32 = /^[0-9a-f]{32}$/;
