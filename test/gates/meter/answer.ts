/** A row of the meter's tables: an answer as a provider sends it, and what it says of itself. */
import type { Dialect } from '../../../core-lite/state/dialect.ts';

export interface Answer {
  readonly name: string;
  readonly dialect: Dialect;
  readonly text: string;
  /** An event stream where it is not said. */
  readonly type?: string;
  /** Input, output, cached, cache-write, reasoning; `null` where nothing was told. */
  readonly tokens: Tokens | null;
  readonly failed?: true;
  /** It failed before the model had written anything. */
  readonly unbegun?: true;
  /** It came to its end where it is not said. */
  readonly unfinished?: true;
  /** What only the price asks for. */
  readonly more?: {
    readonly cacheWriteHour?: number;
    readonly webSearches?: number;
    readonly toldUsd?: number;
  };
}

type Count = number | null;
type Tokens = readonly [input: Count, output: Count, cached?: Count, cacheWrite?: Count, reasoning?: Count];

export const JSON_TYPE = 'application/json';

/** Events of data alone: a text as it is, all else as JSON. */
export function data(...events: readonly unknown[]): string {
  return events
    .map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`)
    .join('');
}

/** Events whose name is the type in their data. */
export function named(...events: readonly { readonly type: string }[]): string {
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
}
