/** The forms of a secret on HTTP/2 streams, and the choice between several, stream by stream. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Http2Origin, startHttp2Origin } from '../support/http2-origin.ts';
import { type Inside, readStream, startInside } from '../support/inside.ts';

const HOST = 'two.bound.test';
const SECRET = 'the/real+secret';

let origin: Http2Origin;
let inside: Inside;
let target: string;
/** What came, with what was never to be indexed. */
const seen: { path: unknown; authorization: unknown; key: unknown; sensitive: unknown }[] = [];

beforeAll(async () => {
  origin = await startHttp2Origin(HOST);
  inside = await startInside([HOST], [origin.caPem]);
  target = `${HOST}:${origin.port}`;
  origin.server.on('stream', (_stream, headers) => {
    const sensitive = Object.getOwnPropertySymbols(headers).flatMap((symbol) => Reflect.get(headers, symbol));
    seen.push({
      path: headers[':path'],
      authorization: headers.authorization,
      key: headers['x-key'],
      sensitive,
    });
  });
  origin.serve(({ stream }) => stream.respond({ ':status': 204 }, { endStream: true }));
});
afterAll(async () => {
  await inside?.close();
  await origin?.close();
});

async function bind(environment: string, bodies: readonly object[]): Promise<void> {
  for (const [i, body] of bodies.entries()) {
    await inside.gate.world.call('PUT', `/v1/vaults/v/credentials/${environment}-${i}`, {
      kind: 'environment_secret',
      variable: 'KEY',
      hosts: [target],
      secret: { value: SECRET },
      ...body,
    });
  }
  const credentials = bodies.map((_, i) => `v/${environment}-${i}`);
  await inside.gate.put(environment, { allow: [target], credentials });
}

const head = (path: string, ...more: string[]) => [
  ...[':method', 'GET', ':scheme', 'https', ':authority', target, ':path', path],
  ...more,
];

it('a parameter and a placeholder are put on, and never indexed', async () => {
  await bind('forms', [
    { placement: { kind: 'query', name: 'api' } },
    { placement: { kind: 'replace', headers: ['x-key'] } },
  ]);
  const session = await inside.session('forms', target);
  const lines = head('/p?api=mine&b=%31', 'x-key', 'k=sallyport-managed');
  expect((await readStream(session.request(lines, { endStream: true }))).status).toBe(204);
  expect(seen.splice(0)).toEqual([
    {
      path: '/p?b=%31&api=the%2Freal%2Bsecret',
      authorization: undefined,
      key: `k=${SECRET}`,
      sensitive: expect.arrayContaining(['x-key']),
    },
  ]);
  const own = await readStream(session.request(head('/p', 'x-key', 'mine'), { endStream: true }));
  expect([own.status, seen]).toEqual([502, []]);
  session.destroy();
});

it('rules choose on each stream of one session, and refuse one stream alone', async () => {
  await bind('rules', [
    { rules: { paths: ['/v1/'] }, secret: { value: 'secret-of-v1' } },
    { rules: { paths: ['/v2/'], methods: ['GET'] }, secret: { value: 'secret-of-v2' } },
  ]);
  const session = await inside.session('rules', target);
  const paths = ['/v1/a', '/v2/a', '/v3/a', '/v1/../v2', '/v2/b'];
  const answers = await Promise.all(
    paths.map((path) => readStream(session.request(head(path), { endStream: true }))),
  );
  expect(answers.map(({ status }) => status)).toEqual([204, 204, 403, 400, 204]);
  expect(seen.map(({ path, authorization }) => [path, authorization]).sort()).toEqual([
    ['/v1/a', 'Bearer secret-of-v1'],
    ['/v2/a', 'Bearer secret-of-v2'],
    ['/v2/b', 'Bearer secret-of-v2'],
  ]);
  session.destroy();
});
