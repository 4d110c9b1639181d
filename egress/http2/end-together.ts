/** A session whose peer has finished is over: HTTP/2 knows no half-closed connection, only half-closed streams. */
import type { Duplex } from 'node:stream';

/** @param socket made with half-close, as all of egress's are: Node's session would not notice that its peer has left */
export function endTogether(socket: Duplex): void {
  socket.allowHalfOpen = false;
}
