/**
 * What is known of a provider of models, as data: where it is, which dialects it speaks on which paths, how a key goes
 * on, and where its counts differ from the dialect's own. No code of any provider: what cannot be said here is not done.
 */
import type { Dialect } from '../state/dialect.ts';

export interface Provider {
  /** As `model put --provider` takes it. */
  readonly name: string;
  /** As its own documents call it. */
  readonly title: string;
  /** Its public address, without a version; `null` where every customer has another and the operator gives it. */
  readonly baseUrl: string | null;
  readonly services: Readonly<Partial<Record<Dialect, Service>>>;
  /**
   * When a stream of Chat Completions tells its usage: always, or only where the request has
   * `stream_options.include_usage`, which is then understood. What always tells is never asked.
   */
  readonly streamUsage: 'always' | 'on_request';
  /** What `@pydantic/genai-prices` calls it; `null` where there are no list prices. */
  readonly prices: string | null;
}

/** One dialect of a provider. */
export interface Service {
  /** Below the base URL. `{model}` is the provider's name for the model. */
  readonly path: string;
  /** Where a `model_key` goes. */
  readonly key: KeyPlace;
  /** Served only by models for which the operator names the dialect. */
  readonly named?: true;
  readonly usage?: UsageMarks;
}

/** `bearer` is `Authorization: Bearer …`; the others are headers of that name with the bare key. */
export type KeyPlace = 'bearer' | 'x-api-key' | 'x-goog-api-key' | 'api-key';

/** Where a provider's counts are not in the dialect's own place. */
export interface UsageMarks {
  /** Also told here, from the outside in, in the dialect's own shape. */
  readonly at?: readonly string[];
  /** The field that tells what came from the cache, where the dialect's own is missing. */
  readonly cached?: string;
  /** The field that tells what the call cost, in US dollars. */
  readonly cost?: string;
  /** The count of the output leaves out what was reasoned. */
  readonly reasoningApart?: true;
}
