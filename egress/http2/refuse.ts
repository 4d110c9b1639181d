/** A refusal as the answer on one stream: the others go on. The same headers and body as anywhere else. */
import { constants, type ServerHttp2Stream } from 'node:http2';
import { type RefusalAnswer, refusalParts } from '../act/refuse.ts';
import { respond } from './respond.ts';

export function refuseStream(stream: ServerHttp2Stream, answer: Omit<RefusalAnswer, 'keepAlive'>): void {
  if (stream.destroyed || stream.closed || stream.headersSent) return;
  const { status, headers, body } = refusalParts(answer);
  const raw = headers.flatMap(([name, value]) => [name.toLowerCase(), value]);
  respond(stream, [':status', String(status), ...raw]);
  // What the client still sends is of no use to anybody: RFC 9113 8.1.
  stream.end(stream.writableEnded ? undefined : body, () => stream.close(constants.NGHTTP2_NO_ERROR));
}
