/** What a test asks of an SDK, whichever it is. */

export interface SdkClient {
  readonly name: string;
  /** Resolves to what was said. */
  readonly chat: (asking: Asking) => Promise<string>;
  /** Yields what is said as it comes. */
  readonly stream: (asking: Asking) => AsyncIterable<string>;
  /** Offers the tool, calls it, and resolves to what is said of its result. */
  readonly tools: (asking: Asking) => Promise<string>;
  /** Sends a PNG, in base64, with the prompt. */
  readonly image: (asking: Asking, base64: string) => Promise<string>;
  readonly embed?: (asking: Asking) => Promise<readonly number[]>;
  /** Resolves to the names of the models. */
  readonly list?: (asking: Asking) => Promise<readonly string[]>;
}

export interface Asking {
  /** Of the gates. */
  readonly base: string;
  readonly token: string;
  readonly model: string;
  readonly prompt: string;
  readonly signal?: AbortSignal;
}
