/** What an exchange over streams is handed over as, and what comes of it: see `act/exchange.ts` for HTTP/1.1. */
import type { HeaderLine } from '../http1/head.ts';
import type { Cut } from '../scrub/body-scrubber.ts';
import type { Scrubber } from '../scrub/scrubber.ts';
import type { Ending } from './ending.ts';

export interface StreamInput {
  /** The head that the origin gets, secret and all. */
  readonly originHead: readonly string[];
  /** How the client's stream ends. */
  readonly request: Ending;
  readonly keepTrailer: (line: HeaderLine) => boolean;
  /** Of the secrets that are in the head. */
  readonly scrubber: Scrubber;
  /** Its bytes are frames, not a text. */
  readonly isWebSocket: boolean;
  /** Asked of a 401 before the client sees any of it: whether it is passed on. Never rejects. */
  readonly passUnauthorized: () => Promise<boolean>;
}

export type StreamOutcome =
  /** Nothing of an answer was sent to the client. @property code of the origin's reset */
  | { readonly kind: 'unanswered'; readonly code: number; readonly bytesUp: number; readonly left: boolean }
  /** What the origin answered is no answer. */
  | { readonly kind: 'invalid'; readonly bytesUp: number }
  /** A 401 that was not passed on. */
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
      /** Why it was cut off. */
      readonly cut: Cut | null;
      /** How often a secret was masked in it. */
      readonly masked: number;
      /** Whether it was the client that broke it off. */
      readonly left: boolean;
    };
