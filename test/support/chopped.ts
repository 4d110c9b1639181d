/**
 * A connection whose bytes go out a few at a time, or behind something else: what a client's TLS looks like over a bad
 * wire, or right behind a CONNECT.
 */
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

/** @param size bytes in each write */
export function chop(socket: Socket, size: number): Duplex {
  socket.setNoDelay(true);
  const chopped = new Duplex({
    read: () => {
      socket.resume();
    },
    write: (chunk: Buffer, _encoding, done) => {
      for (let at = 0; at < chunk.length; at += size) socket.write(chunk.subarray(at, at + size));
      done();
    },
    final: (done) => {
      socket.end(done);
    },
    destroy: (error, done) => {
      socket.destroy();
      done(error);
    },
  });
  socket.on('data', (chunk) => {
    if (!chopped.push(chunk)) socket.pause();
  });
  socket.once('end', () => chopped.push(null));
  socket.on('error', (error) => chopped.destroy(error));
  return chopped;
}
