/**
 * The proxy of a run for clients that can show no password, as Java's: it asks for none and serves our own user's
 * programs only, by the kernel's word, before a byte of theirs is read. It never serves a browser, which runs as the
 * same user and does what pages say.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { isOfBrowser } from './headers.ts';
import type { ProveOwnUser } from './peer-user.ts';
import { makeProxySide, type ProxySide, refuseConnection } from './proxy-side.ts';

/** A proxy listener that is not listening yet. */
export function makeOwnUserSide(side: Omit<ProxySide, 'admit'>, prove: ProveOwnUser): Server {
  const server = makeProxySide({
    ...side,
    admit: ({ rawHeaders }) => (isOfBrowser(rawHeaders) ? 'browser' : 'admitted'),
  });
  // Node's own reader of HTTP is one of its listeners: it gets the socket when the proof is there.
  const readers = server.listeners('connection');
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    socket.on('error', ignore);
    void prove(socket).then((proved) => {
      if (socket.destroyed) return;
      if (!proved) {
        refuseConnection(socket, 'other_user');
        return;
      }
      for (const reader of readers) reader.call(server, socket);
      socket.removeListener('error', ignore);
    });
  });
  return server;
}

function ignore(): void {}
