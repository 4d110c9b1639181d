/** Bytes to a socket, with backpressure: nobody writes faster than the other side reads. */
import type { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import type { ByteReader } from '../http1/byte-reader.ts';
import { reset } from './reset.ts';

/** Writes and waits until more may be written. @returns `false` where the other side is gone */
export async function send(socket: Socket, bytes: Buffer): Promise<boolean> {
  if (socket.destroyed || !socket.writable) return false;
  if (socket.write(bytes)) return true;
  await new Promise<void>((resolve) => {
    const done = () => {
      socket.removeListener('drain', done);
      socket.removeListener('close', done);
      resolve();
    };
    socket.once('drain', done);
    socket.once('close', done);
  });
  return !socket.destroyed;
}

/** What is written until this turn is over goes out together: each write alone is a TLS record and a system call. */
export function gather(to: Writable): void {
  to.cork();
  process.nextTick(() => to.uncork());
}

/** Opaque bytes one way, to their end; half-close is kept. @returns whether they ended cleanly */
export async function pass(from: ByteReader, to: Socket, count: (bytes: number) => void): Promise<boolean> {
  for (;;) {
    const chunk = await from.next();
    if (chunk === 'end') to.end();
    if (chunk === 'broken') to.destroy();
    if (typeof chunk === 'string') return chunk === 'end';
    count(chunk.length);
    if (!(await send(to, chunk))) return false;
  }
}

/** What is on its way is written first; then the connection ends without the end that its TLS would have. */
export async function breakOff(socket: Socket): Promise<void> {
  if (!socket.destroyed && !socket.writableEnded) {
    await new Promise<void>((resolve) => {
      socket.once('close', resolve);
      socket.write(Buffer.alloc(0), () => resolve());
    });
  }
  reset(socket);
}
