/** How answers to model calls are decoded. Of the decoders with a large window only so many work at once, few of one session. */
import { type Coding as AnyCoding, type Decoder, isLarge, makeDecoder } from '../core-lite/decoders.ts';
import { Shares } from './shares.ts';

export type Coding = Exclude<AnyCoding, 'deflate-raw'>;

/** The one coding that a body has; `null` for none, and where only its bytes can be looked at. */
export function codingOf(encoding: string): Coding | null {
  if (encoding === 'x-gzip') return 'gzip';
  return CODINGS.find((coding) => coding === encoding) ?? null;
}

/** The places for decoders with a large window. */
export function makePlaces(): Shares {
  return new Shares(PLACES);
}

/** Whose places a decoder takes one of. */
export interface PlaceOwner {
  readonly places: Shares;
  readonly session: string;
}

/** It gives all that it can of each write. @returns `null` where too many are at work; its place is free again when it closes */
export function openDecoder(coding: Coding, first: Buffer, { places, session }: PlaceOwner): Decoder | null {
  if (!isLarge(coding)) return makeDecoder(variantOf(coding, first));
  if (!places.take(session)) return null;
  const decoder = makeDecoder(coding);
  decoder.once('close', () => places.free(session));
  return decoder;
}

/** RFC 9110 8.4.1.2 says `deflate` is in zlib's format; some servers send it bare, and clients read both. */
function variantOf(coding: Coding, first: Buffer): AnyCoding {
  return coding === 'deflate' && !isZlib(first) ? 'deflate-raw' : coding;
}

function isZlib(first: Buffer): boolean {
  const [method = 0, flags] = first;
  return (method & 0x0f) === DEFLATE && (flags === undefined || (method * 256 + flags) % 31 === 0);
}

const CODINGS: readonly Coding[] = ['gzip', 'deflate', 'br', 'zstd'];
const DEFLATE = 8;
/** At 16 MiB for the largest window of br, 1 GiB. */
const PLACES = { all: 64, ofSession: 8 };
