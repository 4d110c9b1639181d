/** What a body passes through on its way to the client, whatever its coding is: see `scrubber.ts`. */

/** What is counted of an exchange. */
export interface Tally {
  /** How often a form of a secret was masked. */
  masked: number;
}

export interface BodyScrubber {
  /** Whether something is held that goes out if the origin pauses. */
  readonly mayLetGo: boolean;
  /**
   * @param bytes of the body, in order, with what frames it
   * @param data begin and end of each stretch of the body's own bytes in them, flat
   * @returns what may go on now; `cut` where nothing more may, because a secret is in it that cannot be masked
   */
  push(bytes: Buffer, data: readonly number[]): readonly Buffer[] | Promise<readonly Buffer[] | 'cut'>;
  /** The origin pauses. @returns what goes out then; what follows is still looked at */
  letGo(): readonly Buffer[];
  /** Nothing more comes. @returns all that was held */
  end(): readonly Buffer[];
  close(): void;
}

/** A body in which no secret is looked for. */
export const UNTOUCHED: BodyScrubber = {
  mayLetGo: false,
  push: (bytes) => [bytes],
  letGo: () => [],
  end: () => [],
  close: () => {},
};
