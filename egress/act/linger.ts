/** The end of a client's connection after its last answer. */
import type { Side } from './exchange.ts';

/** What the client still sends is read and dropped for a moment: a close over unread bytes would take the answer with it. */
export function linger({ socket, reader }: Side): void {
  if (socket.destroyed) return;
  socket.end(() => {
    const limit = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => clearTimeout(limit));
  });
  reader.discard();
}

const LINGER_MS = 1_000;
