import { describe, expect, it } from 'vitest';
import { isFault } from '../../../../core-lite/errors.ts';
import { type HttpTool, restoreHttpTools } from '../../../../core-lite/state/manifest/http-tool.ts';
import { parseManifest } from '../../../../core-lite/state/manifest/manifest.ts';

const URL_OF_ONE = 'https://api.example/v1/search';
const TOOL = { url: URL_OF_ONE, method: 'POST', inputSchema: { type: 'object' } } as const;
const ONE: HttpTool = {
  ...TOOL,
  headers: {},
  body: 'json',
  credential: null,
  timeoutMs: 30_000,
  outputSchema: null,
};
const tool = (changes: object): unknown => ({ httpTools: { search: { ...TOOL, ...changes } } });
const nested = (depth: number): object => (depth === 0 ? {} : { properties: nested(depth - 1) });
const many = <T>(count: number, make: (place: number) => T): T[] =>
  Array.from({ length: count }, (_, place) => make(place));
const parsed = (changes: object): HttpTool | undefined => parseManifest(tool(changes)).httpTools['search'];

describe('an HTTP tool that is taken', () => {
  it.each<[name: string, changes: Partial<Record<keyof HttpTool, unknown>>, differs: Partial<HttpTool>]>([
    ['with what it takes by itself', {}, {}],
    ['no credential', { credential: null, outputSchema: null }, {}],
    ['GET, which has no body', { method: 'GET' }, { method: 'GET', body: 'none' }],
    ['DELETE, which has none by itself', { method: 'DELETE' }, { method: 'DELETE', body: 'none' }],
    ['DELETE with a body', { method: 'DELETE', body: 'json' }, { method: 'DELETE', body: 'json' }],
    ['PUT', { method: 'PUT' }, { method: 'PUT' }],
    ['PATCH', { method: 'PATCH', body: 'form' }, { method: 'PATCH', body: 'form' }],
    ['no body', { body: 'none' }, { body: 'none' }],
    [
      'a form of a body',
      { body: { q: '{q}', a: [1, '{{{b}}}'] } },
      { body: { q: '{q}', a: [1, '{{{b}}}'] } },
    ],
    ['headers', { headers: { 'X-Trace': 'a-{trace}' } }, { headers: { 'X-Trace': 'a-{trace}' } }],
    ['its own agent and media', { headers: { Accept: 'text/csv' } }, { headers: { Accept: 'text/csv' } }],
    [
      'a credential, the longest time',
      { credential: 'team/search-key', timeoutMs: 300_000 },
      { credential: 'team/search-key', timeoutMs: 300_000 },
    ],
    ['an output schema', { outputSchema: { type: 'array' } }, { outputSchema: { type: 'array' } }],
  ])('%s', (_, changes, differs) => expect(parsed(changes)).toEqual({ ...ONE, ...differs }));

  it.each([
    ['HTTPS://API.Example:443/a/../b', 'https://api.example/b'],
    ['https://api.example\\b', 'https://api.example/b'],
    ['http://api.example/a?b=c', 'http://api.example/a?b=c'],
    ['https://api.example:8443', 'https://api.example:8443/'],
    ['https://api.example/{a}/x-{b}.json', 'https://api.example/{a}/x-{b}.json'],
    ['https://api.example/x/?a={a}&b=1-{b}&c', 'https://api.example/x/?a={a}&b=1-{b}&c'],
    ['https://api.example/{a}/../b/{c}', 'https://api.example/b/{c}'],
  ])('has URLs in one spelling: %s', (url, spelled) => expect(parsed({ url })?.url).toBe(spelled));

  it.each([
    ['GET', 'none'],
    ['POST', 'json'],
    ['DELETE', 'json'],
  ] as const)('out of a row that knew fewer fields, it goes as it went: %s', (method, body) => {
    const { url, inputSchema } = TOOL;
    const row = { url, method, inputSchema, credential: null, timeoutMs: 1 };
    expect(restoreHttpTools({ a: row })['a']).toEqual({ ...row, headers: {}, body, outputSchema: null });
  });
});

describe('an HTTP tool that is refused', () => {
  const at = 'manifest.httpTools.search';
  const placed = `${at}.url has a brace that is not of a {field}`;
  it.each<[name: string, input: unknown, says: string]>([
    ['tools that are no object', { httpTools: [] }, 'manifest.httpTools is not an object'],
    [
      'too many tools',
      { httpTools: Object.fromEntries(many(201, (place) => [`t${place}`, TOOL])) },
      'manifest.httpTools has more than 200',
    ],
    ['a tool’s name with a slash', { httpTools: { 'a/b': TOOL } }, 'manifest.httpTools has a name'],
    ['a tool’s empty name', { httpTools: { '': TOOL } }, 'manifest.httpTools has a name'],
    ['a tool’s long name', { httpTools: { ['a'.repeat(65)]: TOOL } }, 'manifest.httpTools has a name'],
    ['a name of every object', { httpTools: { constructor: TOOL } }, 'manifest.httpTools has a name'],
    ['__proto__', JSON.parse(`{"httpTools":{"__proto__":{}}}`), 'manifest.httpTools has a name'],
    ['a tool that is no object', { httpTools: { search: 'x' } }, `${at} is not an object`],
    ['an unknown field of a tool', tool({ retries: 3 }), `${at} has a field beside url`],
    ['no URL', tool({ url: undefined }), `${at}.url is not`],
    ['a relative URL', tool({ url: '/search' }), `${at}.url is not`],
    ['another scheme', tool({ url: 'file:///etc/passwd' }), `${at}.url is not`],
    ['a long URL', tool({ url: `https://a.example/${'x'.repeat(2048)}` }), `${at}.url is not`],
    ['a user in the URL', tool({ url: 'https://u:p@a.example/' }), `${at}.url holds a user`],
    ['a fragment', tool({ url: 'https://a.example/#x' }), `${at}.url has a fragment`],
    [
      'a credential in the clear',
      tool({ url: 'http://a.example/', credential: 'team/key' }),
      `${at}.url has a credential`,
    ],
    ['no method', tool({ method: undefined }), `${at}.method is not one of GET, POST, PUT, PATCH, DELETE`],
    ['a method in lower case', tool({ method: 'get' }), `${at}.method is not one of`],
    ['CONNECT', tool({ method: 'CONNECT' }), `${at}.method is not one of`],
    ['a credential without its vault', tool({ credential: 'key' }), `${at}.credential is not vault/name`],
    ['a credential that is no text', tool({ credential: {} }), `${at}.credential is not`],
    ['a credential with three parts', tool({ credential: 'a/b/c' }), `${at}.credential is not`],
    ['no time', tool({ timeoutMs: 0 }), `${at}.timeoutMs is not`],
    ['too much time', tool({ timeoutMs: 300_001 }), `${at}.timeoutMs is not`],
    ['half a millisecond', tool({ timeoutMs: 1.5 }), `${at}.timeoutMs is not`],
    ['time as text', tool({ timeoutMs: '1000' }), `${at}.timeoutMs is not`],
    ['no schema', tool({ inputSchema: undefined }), `${at}.inputSchema is not`],
    ['a schema that is a boolean', tool({ inputSchema: true }), `${at}.inputSchema is not`],
    ['a schema that is a list', tool({ inputSchema: [] }), `${at}.inputSchema is not`],
    ['a deep schema', tool({ inputSchema: nested(33) }), `${at}.inputSchema is nested`],
    ['NUL in a schema', tool({ inputSchema: { title: 'a\0' } }), `${at}.inputSchema has a text`],
    ['half a character', tool({ inputSchema: { enum: ['\ud800'] } }), `${at}.inputSchema has a text`],
    ['NUL in a field’s name', tool({ inputSchema: { 'a\0': 1 } }), `${at}.inputSchema has a text`],
    ...[
      'https://{host}.example/',
      'https://api.{host}/',
      'https://api.example:{port}/',
      '{scheme}://api.example/',
    ].map((url): [string, unknown, string] => [`a field in ${url}`, tool({ url }), `${at}.url`]),
    ...[
      'https://api.example/?{name}=1',
      'https://api.example/?{all}',
      'https://api.example/{a',
      'https://api.example/a}',
      'https://api.example/{a b}',
      'https://api.example/{}',
      'https://api.example/{{a}}',
      'https://api.example/%7Ba%7D',
      'https://api.example/?a=%7bx%7d',
      `https://api.example/{${'a'.repeat(65)}}`,
    ].map((url): [string, unknown, string] => [`a brace in ${url}`, tool({ url }), placed]),
    ['headers that are a list', tool({ headers: ['a'] }), `${at}.headers is not an object`],
    [
      'too many headers',
      tool({ headers: Object.fromEntries(many(51, (place) => [`x-${place}`, 'a'])) }),
      `${at}.headers has more than 50`,
    ],
    ['a header’s name with a space', tool({ headers: { 'a b': 'c' } }), `${at}.headers has a name`],
    ['a header’s name with a field', tool({ headers: { '{a}': 'c' } }), `${at}.headers has a name`],
    ['a header twice', tool({ headers: { 'X-A': 'b', x_a: 'c' } }), `${at}.headers has x_a twice`],
    ...['Authorization', 'cookie', 'X_Api_Key', 'Proxy-Authorization'].map(
      (name): [string, unknown, string] => [
        `a secret’s header: ${name}`,
        tool({ headers: { [name]: 'x' } }),
        `${at}.headers has ${name}, which holds a secret: name a credential`,
      ],
    ),
    ...[
      'Host',
      'content-length',
      'Content-Type',
      'Transfer-Encoding',
      'connection',
      'Accept-Encoding',
      'Idempotency-Key',
      'Sallyport-Session-Id',
      'traceparent',
      'X-Http-Method-Override',
      'x-forwarded-for',
    ].map((name): [string, unknown, string] => [
      `a header of ours: ${name}`,
      tool({ headers: { [name]: 'x' } }),
      `${at}.headers has ${name}, which is not for a manifest`,
    ]),
    ['a header of no text', tool({ headers: { a: '' } }), `${at}.headers.a is not 1 to 1024 visible`],
    ['a header that is no text', tool({ headers: { a: 1 } }), `${at}.headers.a is not`],
    ['a header with a line end', tool({ headers: { a: 'b\r\nc: d' } }), `${at}.headers.a is not`],
    ['a header past ASCII', tool({ headers: { a: 'é' } }), `${at}.headers.a is not`],
    ['a long header', tool({ headers: { a: 'a'.repeat(1025) } }), `${at}.headers.a is not`],
    ['a header with a brace', tool({ headers: { a: '{b' } }), `${at}.headers.a has a brace`],
    ['GET with a body', tool({ method: 'GET', body: 'json' }), `${at}.body is none with GET`],
    ['another body', tool({ body: 'xml' }), `${at}.body is not one of none, json, form`],
    ['a body that is a list', tool({ body: ['{a}'] }), `${at}.body is not one of`],
    ['a body with a brace', tool({ body: { a: [{ b: '}' }] } }), `${at}.body has a brace`],
    ['a deep body', tool({ body: nested(33) }), `${at}.body is nested`],
    ['NUL in a body', tool({ body: { a: 'b\0' } }), `${at}.body has a text`],
    ['an output schema that is a boolean', tool({ outputSchema: true }), `${at}.outputSchema is not`],
    ['a deep output schema', tool({ outputSchema: nested(33) }), `${at}.outputSchema is nested`],
  ])('%s', (_, input, says) => {
    let thrown: unknown = null;
    try {
      parseManifest(input);
    } catch (error) {
      thrown = error;
    }
    expect(isFault(thrown, 'input_invalid')).toBe(true);
    expect((thrown as Error).message).toContain(says);
    expect((thrown as Error).message).not.toContain('\n');
  });
});
