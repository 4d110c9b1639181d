/**
 * Tells a pause of a server from the next bytes that are on their way. Its timer lives no longer than the wait. A busy
 * process is no pause: bytes that are here by then are read first.
 */

export class Pause {
  #timer: NodeJS.Timeout | undefined;
  #turn: NodeJS.Immediate | undefined;

  /** @param then called at a pause, unless it is stopped or started anew first */
  start(then: () => void): void {
    this.stop();
    // What has arrived is read between the timers and the immediates.
    this.#timer = setTimeout(() => {
      this.#turn = setImmediate(then);
    }, PAUSE_MS);
  }

  stop(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#turn);
  }
}

/** @returns whether the wait took longer than a pause; the wait itself goes on */
export async function outlastsPause(wait: Promise<unknown>): Promise<boolean> {
  const pause = new Pause();
  const paused = new Promise<boolean>((resolve) => pause.start(() => resolve(true)));
  try {
    return await Promise.race([wait.then(() => false), paused]);
  } finally {
    pause.stop();
  }
}

/** Longer than between two packets of one write, shorter than anybody notices. */
const PAUSE_MS = 25;
