/** Tells a pause of the origin from the next bytes that are on their way. Its timer lives no longer than the wait. */

/** @returns whether the wait took longer than a pause; the wait itself goes on */
export async function outlastsPause(wait: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const paused = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(true), PAUSE_MS);
  });
  try {
    return await Promise.race([wait.then(() => false), paused]);
  } finally {
    clearTimeout(timer);
  }
}

/** Longer than between two packets of one write, shorter than anybody notices. */
export const PAUSE_MS = 50;
