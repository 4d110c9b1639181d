/**
 * Lanes: host names with a loopback address each, so that what reaches an origin is known to belong to one input. No
 * mutation turns one name into another.
 */
import { createHash } from 'node:crypto';

export interface Lane {
  readonly host: string;
  readonly address: string;
}

/** @param suffix of all their names */
export function makeLanes(suffix: string, count: number): readonly Lane[] {
  return Array.from({ length: count }, (_, index) => ({
    host: `x${createHash('sha256').update(`${suffix} ${index}`).digest('hex').slice(0, 12)}.${suffix}`,
    // 127.0.0.x is where the machine's own services sit.
    address: `127.1.${index >> 7}.${(index & 127) + 1}`,
  }));
}

export function hostsFile(lanes: readonly Lane[]): string {
  return lanes.map(({ host, address }) => `${address} ${host}\n`).join('');
}

/** Hands lanes out, each to one user at a time, the longest unused first. */
export class LanePool {
  readonly #free: Lane[];

  constructor(lanes: readonly Lane[]) {
    this.#free = [...lanes];
  }

  async use<T>(work: (lane: Lane) => Promise<T>): Promise<T> {
    const lane = this.#free.shift();
    if (!lane) throw new Error('more inputs at once than lanes');
    try {
      return await work(lane);
    } finally {
      this.#free.push(lane);
    }
  }
}
