/**
 * Tells a pause of a server from the next bytes that are on their way. Its timer lives no longer than the wait. A busy
 * process is no pause: bytes that are here by then are read first.
 */

export class Pause {
  readonly #ms: number;
  #timer: NodeJS.Timeout | undefined;
  #turn: NodeJS.Immediate | undefined;

  /** @param ms how long a silence is one */
  constructor(ms: number) {
    this.#ms = ms;
  }

  /** @param then called at a pause, unless it is stopped or started anew first */
  start(then: () => void): void {
    this.stop();
    // What has arrived is read between the timers and the immediates.
    this.#timer = setTimeout(() => {
      this.#turn = setImmediate(then);
    }, this.#ms);
  }

  stop(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#turn);
  }
}

/** @returns whether the wait took longer than a pause; the wait itself goes on */
export async function outlastsPause(wait: Promise<unknown>, ms: number): Promise<boolean> {
  const pause = new Pause(ms);
  const paused = new Promise<boolean>((resolve) => pause.start(() => resolve(true)));
  try {
    return await Promise.race([wait.then(() => false), paused]);
  } finally {
    pause.stop();
  }
}
