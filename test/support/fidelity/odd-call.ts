/** An odd call: what its client sends, what its provider answers, and what of both the gates may change. */
import type { Random } from '../random.ts';

export interface OddCall {
  readonly name: string;
  readonly path: string;
  /** Header lines beside host, credential and framing. */
  readonly lines: readonly string[];
  readonly body: Buffer;
  /** Sent in chunks of this size. */
  readonly chunked?: number;
  readonly answer: OddAnswer;
  readonly changes?: Changes;
}

export interface OddAnswer {
  /** Behind `HTTP/1.1 `. */
  readonly status: string;
  readonly lines: readonly string[];
  /** Each written on its own. */
  readonly pieces: readonly Buffer[];
  readonly framing: 'length' | 'chunked' | 'close';
}

/** What is other than straight; what is not named is the same. */
interface Changes {
  readonly path?: string;
  readonly body?: string;
  /** Headers of the request that do not go on, lower case. */
  readonly requestDrops?: readonly string[];
  readonly answerBody?: string;
  /** Lines of the answer, as they are told to the client, by what the provider said. */
  readonly answerLines?: Readonly<Record<string, string>>;
  readonly answerDrops?: readonly string[];
}

export function pick<T>(random: Random, from: readonly T[]): T {
  const one = from[random.below(from.length)];
  if (one === undefined) throw new Error('nothing to choose from');
  return one;
}

export function some<T>(random: Random, from: readonly T[], most: number): T[] {
  return Array.from({ length: random.below(most + 1) }, () => pick(random, from));
}

/** Cuts bytes at places of chance. */
export function cut(random: Random, bytes: Buffer): Buffer[] {
  const most = pick(random, [1, 3, 17, 400, 100_000]);
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const size = 1 + random.below(most);
    pieces.push(bytes.subarray(at, at + size));
    at += size;
  }
  return pieces;
}
