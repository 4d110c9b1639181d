/** What follows a body through its framing, whatever the framing is: see `body.ts`. */

/** What was made of a piece of input. */
export interface BodyStep {
  /** To be sent on, in order. */
  readonly forward: readonly Buffer[];
  /** Begin and end of each stretch of content in the first of them, flat; all else there is framing. */
  readonly data: readonly number[];
  /** How many bytes of the input belonged to the body; the rest is what follows it. */
  readonly used: number;
  readonly done: boolean;
}

export interface BodyReader {
  /** Whether the body is complete. */
  readonly done: boolean;
  /** `null` where the bytes break the framing: then nothing more may pass. */
  read(input: Buffer): BodyStep | null;
}
