/** What an exchange over HTTP/1.1 is handed over as, and what comes of it. */
import type { Socket } from 'node:net';
import type { ByteReader } from '../http1/byte-reader.ts';
import type { Framing } from '../http1/framing.ts';
import type { HeaderLine, RequestHead } from '../http1/head.ts';
import type { Cut } from '../scrub/body-scrubber.ts';
import type { Scrubber } from '../scrub/scrubber.ts';

/** One side of the exchange. */
export interface Side {
  readonly socket: Socket;
  readonly reader: ByteReader;
}

export interface ExchangeInput {
  readonly head: RequestHead;
  readonly framing: Framing;
  /** The head that the origin gets, secret and all. */
  readonly originHead: Buffer;
  readonly keepTrailer: (line: HeaderLine) => boolean;
  /** Of the secrets that are in the head. */
  readonly scrubber: Scrubber;
  /** Whether the request asks for a WebSocket: then a 101 is an answer to it. */
  readonly webSocket: boolean;
  /** Whether a proxy with a login of our own stands between: its 407 is no answer to the client. */
  readonly viaProxy?: boolean;
  /** Asked of a 401 before the client sees any of it: whether it is passed on. Never rejects. */
  readonly passUnauthorized?: () => Promise<boolean>;
}

/**
 * `unanswered`: the origin went away before it answered; `invalid`: what it answered is no answer; `malformed`: the
 * client broke the framing of its body; `proxy_login`: the proxy between refused ours. Nothing of an answer was written
 * to the client.
 */
export interface Unanswered {
  readonly kind: 'unanswered' | 'invalid' | 'malformed' | 'proxy_login';
  readonly bytesUp: number;
}

export type ExchangeOutcome =
  | Unanswered
  /** A 401 that was not passed on; the origin's connection cannot be used any more. */
  | { readonly kind: 'withheld'; readonly bytesUp: number; readonly bytesDown: number }
  /** An answer of which nothing was sent to the client, since it would have been cut off. */
  | {
      readonly kind: 'refused';
      readonly cut: Cut;
      readonly status: number;
      readonly bytesUp: number;
      readonly bytesDown: number;
    }
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly bytesUp: number;
      readonly bytesDown: number;
      readonly complete: boolean;
      /** Whether it was the client that broke it off. */
      readonly left: boolean;
      /** Why it was cut off. */
      readonly cut: Cut | null;
      /** How often a secret was masked in it. */
      readonly masked: number;
      readonly keepClient: boolean;
      readonly keepOrigin: boolean;
    };
