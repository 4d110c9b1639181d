/** Places that all share: of so many, one session holds only a part, so that no session takes them from the others. */
export interface ShareLimits {
  readonly all: number;
  readonly ofSession: number;
}

export class Shares {
  readonly #limits: ShareLimits;
  readonly #taken = new Map<string, number>();
  #all = 0;

  constructor(limits: ShareLimits) {
    this.#limits = limits;
  }

  /** @returns whether there was one for this session */
  take(session: string): boolean {
    const taken = this.#taken.get(session) ?? 0;
    if (this.#all >= this.#limits.all || taken >= this.#limits.ofSession) return false;
    this.#taken.set(session, taken + 1);
    this.#all += 1;
    return true;
  }

  /** One that it took. */
  free(session: string): void {
    const left = (this.#taken.get(session) ?? 0) - 1;
    if (left > 0) this.#taken.set(session, left);
    else this.#taken.delete(session);
    this.#all -= 1;
  }
}
