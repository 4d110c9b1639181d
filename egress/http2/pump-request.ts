/** The body of a request from the client's stream to the origin's, with flow control as the only buffer. */
import type { Http2Stream } from 'node:http2';
import type { Ending } from './ending.ts';

/** Every chunk of a request's body passes here. What has not ended is not ended on the other side. */
export function pumpRequest(
  from: Http2Stream,
  to: Http2Stream,
  ending: Ending,
  count: (chunk: Buffer) => void,
): void {
  from.on('data', (chunk: Buffer) => {
    count(chunk);
    if (to.closed || to.destroyed || to.writableEnded) return;
    if (to.write(chunk)) return;
    from.pause();
    to.once('drain', () => from.resume());
  });
  from.once('end', () => {
    if (ending.whole && !to.closed && !to.destroyed) to.end();
  });
}
