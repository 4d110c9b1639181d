/** HTTP/2 inside an interception whose origin is reached through a parent proxy: TLS in its tunnel, sessions shared. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Http2Origin, startHttp2Origin } from '../support/http2-origin.ts';
import { type Inside, readStream, SECRET, startInside } from '../support/inside.ts';
import { startHttpParent, startSocksParent, type TestParent } from '../support/parent.ts';

const HOST = 'two.bound.test';

describe.each(['http', 'https', 'socks5'])('through a parent over %s', (scheme) => {
  let origin: Http2Origin;
  let parent: TestParent;
  let inside: Inside;

  beforeAll(async () => {
    origin = await startHttp2Origin(HOST);
    const name = scheme === 'https' ? { name: 'proxy.test' } : {};
    parent = await (scheme === 'socks5' ? startSocksParent() : startHttpParent(name));
    const SALLYPORT_PARENT_PROXY = `${scheme}://proxy.test:${parent.port}`;
    const roots = [origin.caPem, parent.caPem].filter((pem) => pem !== '');
    inside = await startInside(['proxy.test'], roots, { SALLYPORT_PARENT_PROXY });
    await inside.bind('e', [`${HOST}:${origin.port}`]);
  });

  afterAll(async () => {
    await inside?.close();
    await Promise.all([origin?.close(), parent?.close()]);
  });

  it('clients of one environment share a session; trailers pass, the secret is on', async () => {
    const secrets: (string | undefined)[] = [];
    origin.serve(({ stream, raw }) => {
      secrets.push(raw[raw.indexOf('authorization') + 1]);
      stream.respond({ ':status': 200 }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.end('hello');
    });
    const target = `${HOST}:${origin.port}`;
    for (const path of ['/1', '/2']) {
      const session = await inside.session('e', target);
      const head = { ':path': path, ':authority': target };
      const answer = await readStream(session.request(head, { endStream: true }));
      expect(answer).toMatchObject({ status: 200, body: 'hello', trailers: ['grpc-status', '0'], code: 0 });
      session.destroy();
    }
    expect(secrets).toEqual([`Bearer ${SECRET}`, `Bearer ${SECRET}`]);
    expect(parent.asked).toEqual([target]);
    expect(inside.gate.dns.lookups).toEqual([]);
    await expect
      .poll(async () => (await inside.gate.rows())[0]?.end)
      .toMatchObject({ address: null, exchanges: 1 });
  });
});
