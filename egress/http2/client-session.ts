/** The client's side of an HTTP/2 interception: a server session over TLS that was ended by hand. */
import { performServerHandshake, type ServerHttp2Session } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { endTogether } from './end-together.ts';
import { clientSideOptions, widen } from './limits.ts';

/** @param webSockets whether clients may open WebSockets over streams */
export function openClientSession(secured: TLSSocket, webSockets: boolean): ServerHttp2Session {
  endTogether(secured);
  const session = performServerHandshake(secured, clientSideOptions(webSockets));
  session.once('connect', () => widen(session));
  // Node waits for this event, which only its own TLS server brings about.
  secured.emit('secureConnect');
  return session;
}
