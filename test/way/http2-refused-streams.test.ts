/** What an origin says it did not look at (RFC 9113 8.7) is asked again only where nothing of it is gone. */
import { constants } from 'node:http2';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Http2Origin, startHttp2Origin } from '../support/http2-origin.ts';
import { type Inside, readStream, startInside } from '../support/inside.ts';

const HOST = 'two.bound.test';
let origin: Http2Origin;
let inside: Inside;
let target: string;

beforeAll(async () => {
  origin = await startHttp2Origin(HOST);
  inside = await startInside([HOST], [origin.caPem]);
  target = `${HOST}:${origin.port}`;
  await inside.bind('one', [target]);
});
afterAll(async () => {
  await inside?.close();
  await origin?.close();
});

it.each([
  ['GET', undefined, 2],
  ['GET', 'what=5', 1],
  ['POST', 'amount=5', 1],
])('%s with the body %s reaches the origin %i times', async (method, body, times) => {
  let asked = 0;
  const served: string[] = [];
  origin.serve(({ stream }) => {
    asked += 1;
    let text = '';
    stream.on('data', (data) => {
      text += data;
    });
    if (asked === 1) {
      stream.close(constants.NGHTTP2_REFUSED_STREAM);
      return;
    }
    stream.on('end', () => served.push(text));
    stream.respond({ ':status': 200 });
    stream.end('done');
  });
  const session = await inside.session('one', target);
  const stream = session.request(
    { ':method': method, ':path': '/', ':authority': target },
    { endStream: body === undefined },
  );
  const answer = readStream(stream).catch((error: unknown) => ({ status: String(error) }));
  if (body !== undefined) stream.end(body);
  const { status } = await answer;
  expect(asked).toBe(times);
  if (times === 2) expect([status, served]).toEqual([200, ['']]);
  else expect(status).not.toBe(200);
  session.destroy();
});
