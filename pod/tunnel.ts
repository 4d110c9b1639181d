/**
 * Opaque bytes both ways, with backpressure and half-close kept. A side that breaks off is broken off at the other: a
 * reset is never shown as a clean end.
 */
import type { Socket } from 'node:net';

/** Ties two sockets to each other until both are closed. */
export function tunnel(one: Socket, other: Socket): void {
  follow(one, other);
  follow(other, one);
  one.pipe(other);
  other.pipe(one);
}

function follow(side: Socket, other: Socket): void {
  let broken = false;
  const onBroken = (): void => {
    broken = true;
    breakOff(other);
  };
  side.on('error', onBroken);
  side.once('close', () => {
    // Nothing more will be read from the other side; what was written to it goes out.
    if (!broken && !other.destroyed) other.destroySoon();
  });
  // It may have gone before anybody listened.
  if (side.errored) onBroken();
  if (side.destroyed) side.emit('close');
}

/** What is on its way is written first; then the peer sees a reset. */
function breakOff(socket: Socket): void {
  if (socket.destroyed) return;
  if (socket.writableLength === 0 || socket.writableEnded) socket.resetAndDestroy();
  else socket.write(Buffer.alloc(0), () => socket.resetAndDestroy());
}
