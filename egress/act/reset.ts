/** Breaks a connection off, so that its peer cannot take what it got for the whole. */
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

/** A reset; in TLS an end without its close_notify (RFC 8446 6.1), since Node resets plain sockets only. */
export function reset(socket: Socket): void {
  if (socket instanceof TLSSocket) socket.destroy();
  else socket.resetAndDestroy();
}
