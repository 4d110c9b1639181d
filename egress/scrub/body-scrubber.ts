/** What a body passes through on its way to the client, whatever its coding is: see `scrubber.ts`. */

/** What is counted of an exchange. */
export interface Tally {
  /** How often a form of a secret was masked. */
  masked: number;
}

/**
 * Why nothing more may pass: a secret is in it where it cannot be masked, or it takes too much to decode, or it is broken,
 * so that others may read more of it than we do, or too many others are decoded.
 */
export type Cut = 'echoed' | 'overmuch' | 'broken' | 'busy';

export interface CutOff {
  readonly cut: Cut;
  /** What may go on before it. */
  readonly before: readonly Buffer[];
}

export interface BodyScrubber {
  /** Whether it may be cut. Then nothing goes before it that says how long it is: that is, how well it is compressed. */
  readonly mayCut: boolean;
  /** Whether something is held that goes out if the origin pauses. */
  readonly mayLetGo: boolean;
  /**
   * @param bytes of the body, in order, with what frames it
   * @param data begin and end of each stretch of the body's own bytes in them, flat
   * @returns what may go on now, or why nothing more may
   */
  push(bytes: Buffer, data: readonly number[]): readonly Buffer[] | Promise<readonly Buffer[] | CutOff>;
  /** The origin pauses. @returns what goes out then; what follows is still looked at */
  letGo(): readonly Buffer[];
  /** It came to its end. @returns all that was held, or why it may not go on */
  end(): readonly Buffer[] | Promise<readonly Buffer[] | CutOff>;
  /** No more comes or is wanted. What is held is dropped: of what broke off, its end was not looked at. */
  close(): void;
}

/**
 * How long an origin says nothing before it pauses: longer than the way to most origins and back, since one that waits for
 * us to read on is as silent, and where it does so may be chosen by whoever is read to.
 */
export const PAUSE_MS = 300;

/** A body in which no secret is looked for. */
export const UNTOUCHED: BodyScrubber = {
  mayCut: false,
  mayLetGo: false,
  push: (bytes) => [bytes],
  letGo: () => [],
  end: () => [],
  close: () => {},
};
