/** A ClientHello in a test's hands: what TLS says first is held back, so that it can be sent as the test wants. */
import { Duplex } from 'node:stream';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import type { Peer } from '../../support/client.ts';

export interface HeldHello {
  readonly hello: Buffer;
  /** Goes on over a connection on which the test has sent the hello. */
  continueOver(peer: Peer): Promise<TLSSocket>;
}

export async function holdHello(options: ConnectionOptions): Promise<HeldHello> {
  let peer: Peer | null = null;
  let take: (hello: Buffer) => void = () => {};
  const first = new Promise<Buffer>((resolve) => {
    take = resolve;
  });
  const wire = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      if (peer) peer.socket.write(chunk, done);
      else {
        take(chunk);
        done();
      }
    },
  });
  const secured = connect({ ...options, socket: wire });
  const ready = new Promise<TLSSocket>((resolve, reject) => {
    secured.once('secureConnect', () => resolve(secured)).once('error', reject);
  });
  // It may fail before the test asks.
  ready.catch(() => {});
  return {
    hello: await first,
    continueOver: (over) => {
      peer = over;
      const socket = over.detach();
      // The answer may have come with the head of the 200.
      if (over.received.length > 0) wire.push(over.received);
      socket.on('data', (chunk: Buffer) => wire.push(chunk)).once('end', () => wire.push(null));
      socket.once('close', () => wire.destroy());
      socket.resume();
      return ready;
    },
  };
}
