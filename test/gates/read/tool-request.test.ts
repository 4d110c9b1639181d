/** What an input makes of a tool's declaration: it is data where it may stand, and nothing elsewhere. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { HttpTool } from '../../../core-lite/state/manifest/http-tool.ts';
import { parseManifest } from '../../../core-lite/state/manifest/manifest.ts';
import { makeToolRequest, type ToolRequest } from '../../../gates/read/tool-request.ts';

type Json = Record<string, unknown>;
const AT = 'https://tool.test';

function declare(changes: object): HttpTool {
  const inputSchema = { type: 'object' };
  const tool = { url: `${AT}/`, method: 'POST', inputSchema, ...changes };
  return parseManifest({ httpTools: { one: tool } }).httpTools['one'] as HttpTool;
}

function make(changes: object, input: Json): ToolRequest {
  const made = makeToolRequest(declare(changes), input);
  if (typeof made === 'string') throw new Error(made);
  return made;
}

const JSON_HEADER = ['content-type', 'application/json'];
const FORM_HEADER = ['content-type', 'application/x-www-form-urlencoded'];

describe('a request that is made', () => {
  it.each<[name: string, changes: object, input: Json, path: string, headers: string[], body: string | null]>(
    [
      ['JSON by itself', {}, { a: 1, b: 'é' }, '/', JSON_HEADER, '{"a":1,"b":"é"}'],
      ['JSON of nothing', {}, {}, '/', JSON_HEADER, '{}'],
      [
        'a query with GET',
        { method: 'GET' },
        { a: 'x y', b: [1, null] },
        '/?a=x%20y&b=%5B1%2Cnull%5D',
        [],
        null,
      ],
      ['a query with DELETE', { method: 'DELETE' }, { a: true }, '/?a=true', [], null],
      ['nothing with GET', { method: 'GET' }, {}, '/', [], null],
      ['a query with POST', { body: 'none' }, { a: 1 }, '/?a=1', [], null],
      ['JSON with DELETE', { method: 'DELETE', body: 'json' }, { a: 1 }, '/', JSON_HEADER, '{"a":1}'],
      [
        'a form',
        { body: 'form' },
        { a: "x&y=z'", b: { c: 1 } },
        '/',
        FORM_HEADER,
        'a=x%26y%3Dz%27&b=%7B%22c%22%3A1%7D',
      ],
      ['a form of nothing', { body: 'form' }, {}, '/', FORM_HEADER, ''],
      [
        'fields in the path, and the rest in the body',
        { url: `${AT}/a/{id}/x-{n}.json`, method: 'PUT' },
        { id: 'ü/'.slice(0, 1), n: 5, more: 1 },
        '/a/%C3%BC/x-5.json',
        JSON_HEADER,
        '{"more":1}',
      ],
      ['a slash at the end', { url: `${AT}/a/{id}/` }, { id: 1 }, '/a/1/', JSON_HEADER, '{}'],
      [
        'fields in the query',
        { url: `${AT}/s?fixed=1&q={q}&page=p{n}`, method: 'GET' },
        { q: 'a&admin=1#x', n: 2, more: 'm' },
        '/s?fixed=1&q=a%26admin%3D1%23x&page=p2&more=m',
        [],
        null,
      ],
      [
        'a parameter left out whose field is missing',
        { url: `${AT}/s?q={q}&page={n}`, method: 'GET' },
        { n: 0 },
        '/s?page=0',
        [],
        null,
      ],
      ['all parameters left out', { url: `${AT}/s?q={q}`, method: 'GET' }, {}, '/s', [], null],
      [
        'fields in headers',
        { method: 'GET', headers: { 'X-Trace': 't-{trace}', 'X-Fixed': '{{1}}', 'If-Match': '{etag}' } },
        { trace: 'a b', fixed: 2 },
        '/?fixed=2',
        ['X-Trace', 't-a b', 'X-Fixed', '{1}'],
        null,
      ],
      [
        'a field of two places',
        { url: `${AT}/{id}`, headers: { 'x-id': '{id}' } },
        { id: 'a', b: 1 },
        '/a',
        ['x-id', 'a', ...JSON_HEADER],
        '{"b":1}',
      ],
      [
        'a body of a form',
        {
          body: {
            query: { match: '{q}', size: 10, tags: ['{tag}', '{none}'] },
            note: 'for {q} of {n}',
            off: '{none}',
          },
        },
        { q: { deep: [1] }, tag: 'x', n: 'y', unused: 1 },
        '/',
        JSON_HEADER,
        '{"query":{"match":{"deep":[1]},"size":10,"tags":["x"]},"note":"for {\\"deep\\":[1]} of y"}',
      ],
      ['braces in a body', { body: { a: '{{{b}}}' } }, { b: 1 }, '/', JSON_HEADER, '{"a":"{1}"}'],
      ['a field that is null', { body: { a: '{b}' } }, { b: null }, '/', JSON_HEADER, '{"a":null}'],
    ],
  )('%s', (_, changes, input, path, headers, body) => {
    expect(make(changes, input)).toMatchObject({ path, headers, body });
  });

  it('has no field of what every object has', () => {
    const url = `${AT}/s?a={constructor}&b={__proto__}&c={toString}`;
    const headers = { 'x-a': '{valueOf}' };
    const body = { a: '{hasOwnProperty}' };
    expect(make({ url, headers, body }, {})).toMatchObject({ path: '/s', headers: JSON_HEADER, body: '{}' });
    expect(makeToolRequest(declare({ url: `${AT}/{constructor}` }), {})).toMatch('input/constructor must');
  });

  it('goes to the declared host, or nowhere', () => {
    expect(make({ url: 'https://tool.test:8443/a' }, {}).url?.target).toMatchObject({
      host: 'tool.test',
      port: 8443,
    });
    expect(make({ url: 'https://127.0.0.1/a' }, {}).url).toBe(null);
  });
});

describe('an input that makes no request', () => {
  const path = { url: `${AT}/item/{id}`, method: 'GET' };
  const header = { method: 'GET', headers: { 'x-trace': '{trace}' } };
  const deep = { url: `${AT}/{a}{b}/x`, method: 'DELETE' };
  it.each<[name: string, changes: object, input: Json, says: string]>([
    ['no field for the path', path, {}, 'input/id must be a text'],
    ['an empty one', path, { id: '' }, 'input/id must be a text'],
    ['null', path, { id: null }, 'input/id must be a text'],
    ['an object', path, { id: { toString: 'x' } }, 'input/id must be a text'],
    ['a list', path, { id: ['a'] }, 'input/id must be a text'],
    ['a slash', path, { id: 'a/b' }, 'input/id must hold no slash'],
    ['a backslash', path, { id: 'a\\b' }, 'input/id must hold no slash'],
    ['a line end', path, { id: 'a\r\nX-Evil: 1' }, 'input/id must hold no slash'],
    ['NUL', path, { id: 'a\0' }, 'input/id must hold no slash'],
    ['half a character in the path', path, { id: '\ud800' }, 'input/id must hold no slash'],
    ['a dot', path, { id: '.' }, 'input/id must not make a step of dots'],
    ['two dots', path, { id: '..' }, 'input/id must not make a step of dots'],
    ['two dots of two fields', deep, { a: '.', b: '.' }, 'input/a must not make a step of dots'],
    ['a header of null', header, { trace: null }, 'input/trace must be a text'],
    ['a header of an object', header, { trace: {} }, 'input/trace must be a text'],
    ['an empty header', header, { trace: '' }, 'input/trace must be at most'],
    ['a line end in a header', header, { trace: 'a\nX-Evil: 1' }, 'input/trace must be at most'],
    ['a carriage return in a header', header, { trace: 'a\rX-Evil: 1' }, 'input/trace must be at most'],
    ['NUL in a header', header, { trace: 'a\0b' }, 'input/trace must be at most'],
    ['low bytes that are line ends', header, { trace: 'ačĊX-Evil: 1' }, 'input/trace must be at most'],
    ['a space at an end of a header', header, { trace: ' a' }, 'input/trace must be at most'],
    ['a long header', header, { trace: 'a'.repeat(4097) }, 'input/trace must be at most'],
    ['half a character in the query', { method: 'GET' }, { a: '\udc00' }, 'not well-formed'],
    ['half a character in a name', { method: 'GET' }, { '\udc00': 1 }, 'not well-formed'],
    ['half a character in a form', { body: 'form' }, { a: '\udc00' }, 'not well-formed'],
    ['half a character in a parameter', { url: `${AT}/?a={a}` }, { a: '\udc00' }, 'not well-formed'],
    ['a long query', { method: 'GET' }, { a: 'a'.repeat(16_384) }, 'URL longer than'],
  ])('%s', (_, changes, input, says) => {
    const made = makeToolRequest(declare(changes), input);
    expect(made).toEqual(expect.stringContaining(says));
    expect(made).not.toMatch(/Evil|[^ -~]/);
  });
});

describe('any input', () => {
  const tool = declare({
    url: `${AT}/a/{x}/b-{y}?q={q}&r={x}`,
    method: 'GET',
    headers: { 'x-h': '{h}' },
  });
  const value = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string(),
    fc.jsonValue(),
    fc.constantFrom('..', '%2e', 'a'),
  );
  const inputs = fc.record({ x: value, y: value, q: value, h: value, more: value }, { requiredKeys: [] });

  it('stays in its places: the path has its steps, each parameter is there once, and comes back as it was', () => {
    fc.assert(
      fc.property(inputs, (input) => {
        const made = makeToolRequest(tool, input as Json);
        if (typeof made === 'string') return;
        expect(made.path).toMatch(/^[!-~]+$/);
        const url = new URL(AT + made.path);
        expect(url.origin + url.pathname + url.search).toBe(AT + made.path);
        const [, a, x = '', last = '', ...more] = url.pathname.split('/');
        expect([a, decodeURIComponent(x), decodeURIComponent(last), more]).toEqual([
          'a',
          String(input.x),
          `b-${String(input.y)}`,
          [],
        ]);
        const asText = (each: unknown): string => (typeof each === 'string' ? each : JSON.stringify(each));
        const expected = [
          ...('q' in input ? [['q', asText(input.q)]] : []),
          ['r', asText(input.x)],
          ...('more' in input ? [['more', asText(input.more)]] : []),
        ];
        expect([...url.searchParams]).toEqual(expected);
        expect(made.headers).toEqual('h' in input ? ['x-h', String(input.h)] : []);
        expect(made.headers.join()).toMatch(/^[ -~\t]*$/);
      }),
      { numRuns: 2_000 },
    );
  });
});
