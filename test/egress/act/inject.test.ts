import { describe, expect, test } from 'vitest';
import { Allow } from '../../../core-lite/decision.ts';
import { Secret } from '../../../core-lite/secret.ts';
import { type PlacementInput, parsePlacement } from '../../../core-lite/vault/placement.ts';
import type { OpenedSecret } from '../../../core-lite/vault/secret-reader.ts';
import { mayTrail, placeSecrets } from '../../../egress/act/inject.ts';
import { parseHeaderLines } from '../../../egress/http1/head.ts';

const VALUE = 's3cret/+=&%$&{}';
const ENCODED = 's3cret%2F%2B%3D%26%25%24%26%7B%7D';
const PLACEHOLDER = 'sallyport-managed';
const proof = new Allow('injected');

const header = { kind: 'header', header: 'X-Api-Key', format: 'key={}' } as const;
const basic = { kind: 'basic', user: 'x-access-token' } as const;
const query = { kind: 'query', name: 'api_key' } as const;
const replace = { kind: 'replace', headers: ['Authorization', 'X-Key'], query: ['key'] } as const;

function secret(placement: PlacementInput, value = VALUE): OpenedSecret {
  const id = `crd_${JSON.stringify(placement)}`;
  return {
    credentialId: id,
    version: 1,
    revision: '1',
    placement: parsePlacement(placement),
    value: new Secret(value),
  };
}

/** What goes out, as target and lines; `null` where nothing does. */
function place(
  placements: readonly (PlacementInput | OpenedSecret)[],
  target: string,
  lines: readonly string[],
) {
  const headers = parseHeaderLines(lines, 0);
  if (!headers) throw new Error('a line of the test is malformed');
  const secrets = placements.map((each) => ('revision' in each ? each : secret(each)));
  const placed = placeSecrets(proof, { method: 'GET', target, headers }, secrets);
  return (
    placed && {
      target: placed.target,
      lines: placed.headers.map(({ raw }) => raw),
      placed: placed.placed.length,
    }
  );
}

function base64(text: string): string {
  return Buffer.from(text, 'latin1').toString('base64');
}

describe('a header is set, once', () => {
  const set = `x-api-key: key=${VALUE}`;
  test.each<[string, string[], string[]]>([
    ['where there was none', ['Accept:  */*'], ['Accept:  */*', set]],
    ['for one of the client', ['X-Api-Key: mine', 'A: b'], ['A: b', set]],
    ['for several, in every case', ['x-api-KEY: 1', 'A: b', 'X-API-KEY: 2'], ['A: b', set]],
    ['for those with underscores', ['X_Api_Key: 1', 'x-api_key: 2'], [set]],
    ['for those with any other mark', ['X.Api.Key: 1', 'x~api-key: 2', "X'Api!Key: 3"], [set]],
    ['for empty ones', ['X-Api-Key:', 'x_api_key: '], [set]],
    ['and one that only begins like it stays', ['X-Api-Key-Id: 7'], ['X-Api-Key-Id: 7', set]],
    [
      'and one with a mark more or less stays',
      ['XApi-Key: 7', 'X--Api-Key: 8'],
      ['XApi-Key: 7', 'X--Api-Key: 8', set],
    ],
    [
      'and others with marks stay as they are',
      ['X.Amz.Date: 7', 'Sec_Ch_UA: 8'],
      ['X.Amz.Date: 7', 'Sec_Ch_UA: 8', set],
    ],
  ])('%s', (_, lines, out) => {
    expect(place([header], '/p?api_key=1', lines)).toEqual({ target: '/p?api_key=1', lines: out, placed: 1 });
  });

  test('as Basic, in place of whatever authorization there was', () => {
    const lines = ['Authorization: Bearer mine', 'authorization: Basic bWluZTo=', 'A: b'];
    const pair = base64(`x-access-token:${VALUE}`);
    expect(place([basic], '*', lines)?.lines).toEqual(['A: b', `authorization: Basic ${pair}`]);
  });
});

describe('a query parameter is set, once', () => {
  test.each<[string, string]>([
    ['/p', `/p?api_key=${ENCODED}`],
    ['/p?', `/p?api_key=${ENCODED}`],
    ['/p?a=1', `/p?a=1&api_key=${ENCODED}`],
    ['/p?a=%31&&b=+x;y=1', `/p?a=%31&&b=+x;y=1&api_key=${ENCODED}`],
    ['/p?api_key=mine', `/p?api_key=${ENCODED}`],
    ['/p?api_key', `/p?api_key=${ENCODED}`],
    ['/p?api_key=', `/p?api_key=${ENCODED}`],
    ['/p?api_key=1&a=1&api_key=2', `/p?a=1&api_key=${ENCODED}`],
    ['/p?a=1&%61pi%5Fkey=1&b=2', `/p?a=1&b=2&api_key=${ENCODED}`],
    ['/p?a=1&%61pi%5fkey=1', `/p?a=1&api_key=${ENCODED}`],
    ['/p?API_KEY=1', `/p?api_key=${ENCODED}`],
    ['/p?a=1;api_key=2&b=3', `/p?a=1&b=3&api_key=${ENCODED}`],
    ['/p?api.key=1&api+key=2&api%20key=3', `/p?api_key=${ENCODED}`],
    ['/p?api_key[]=1&api_key%5B0%5D=2&api[key=3', `/p?api_key=${ENCODED}`],
    ['/p?api_key%00x=1', `/p?api_key=${ENCODED}`],
    ['/p?api_keys=1&my_api_key=2&x=api_key', `/p?api_keys=1&my_api_key=2&x=api_key&api_key=${ENCODED}`],
    ['/api_key=1?b', `/api_key=1?b&api_key=${ENCODED}`],
    ['/p?a=b?api_key=c', `/p?a=b?api_key=c&api_key=${ENCODED}`],
  ])('%s', (target, out) => {
    expect(place([query], target, ['A: b'])).toEqual({ target: out, lines: ['A: b'], placed: 1 });
  });

  test.each(['*', '/p#a', '/p?a#b'])('not where an origin would not find it: %s', (target) => {
    expect(place([query], target, [])).toBeNull();
  });

  test('a name that needs it is encoded', () => {
    expect(place([{ kind: 'query', name: 'a&b' }], '/p?a%26b=1&a=2', [])?.target).toBe(
      `/p?a=2&a%26b=${ENCODED}`,
    );
  });
});

describe('a placeholder is replaced', () => {
  const filled = base64(`u:${VALUE}`);
  test.each<[string, string]>([
    [`Authorization: Bearer ${PLACEHOLDER}`, `Authorization: Bearer ${VALUE}`],
    [`aUTHORIZATION:\t ${PLACEHOLDER} `, `aUTHORIZATION:\t ${VALUE} `],
    [`X_Key: ${PLACEHOLDER}`, `X_Key: ${VALUE}`],
    [`X-Key: a=${PLACEHOLDER};b=${PLACEHOLDER}`, `X-Key: a=${VALUE};b=${VALUE}`],
    [`Authorization: Basic ${base64(`u:${PLACEHOLDER}`)}`, `Authorization: Basic ${filled}`],
    [
      `Authorization: bAsIc  ${base64(`u:${PLACEHOLDER}`).replace(/=+$/, '')}`,
      `Authorization: bAsIc  ${filled}`,
    ],
    [`Authorization: Basic ${base64(`${PLACEHOLDER}:`)}`, `Authorization: Basic ${base64(`${VALUE}:`)}`],
    [
      `Authorization: Basic ${base64(`\xff\xfe:${PLACEHOLDER}`)}`,
      `Authorization: Basic ${base64(`\xff\xfe:${VALUE}`)}`,
    ],
    [
      `Authorization: Basic ${Buffer.from(`?>~:${PLACEHOLDER}`).toString('base64url')}`,
      `Authorization: Basic ${base64(`?>~:${VALUE}`)}`,
    ],
    [`Authorization: Basic ${PLACEHOLDER}`, `Authorization: Basic ${VALUE}`],
  ])('in the header %j', (line, out) => {
    expect(place([replace], '/p', ['A: b', line])).toEqual({ target: '/p', lines: ['A: b', out], placed: 1 });
  });

  test.each<[string, string]>([
    [`/p?key=${PLACEHOLDER}`, `/p?key=${ENCODED}`],
    ['/p?a=+%31&%6bey=%73allyport%2dmanage%64&b', `/p?a=+%31&%6bey=${ENCODED}&b`],
    [`/p?key=a${PLACEHOLDER}%20b&key=${PLACEHOLDER}`, `/p?key=a${ENCODED}%20b&key=${ENCODED}`],
    [`/p?KEY[]=${PLACEHOLDER};x=1`, `/p?KEY[]=${ENCODED};x=1`],
  ])('in the target %s', (target, out) => {
    expect(place([replace], target, ['A: b'])).toEqual({ target: out, lines: ['A: b'], placed: 1 });
  });

  test.each<[string, string, string[]]>([
    ['a key of the client’s own', '/p', ['Authorization: Bearer mine']],
    ['its own beside the placeholder', '/p', [`Authorization: ${PLACEHOLDER}`, 'X-Key: mine']],
    ['its own in another spelling', '/p', [`X-Key: ${PLACEHOLDER}`, 'X_Key: mine']],
    ['its own in Basic', '/p', [`Authorization: Basic ${base64('u:mine')}`]],
    ['a Basic that is no base64', '/p', ['Authorization: Basic u:p']],
    ['an empty value', '/p', ['X-Key:']],
    ['its own in the query', '/p?key=mine', [`X-Key: ${PLACEHOLDER}`]],
    ['a parameter without a value', '/p?key', [`X-Key: ${PLACEHOLDER}`]],
    ['the placeholder in another case', '/p', ['X-Key: Sallyport-Managed']],
    ['half a placeholder', '/p?key=sallyport&key=-managed', []],
    ['the placeholder as a name', `/p?key${PLACEHOLDER}=1&key=1`, []],
  ])('or nothing goes out: %s', (_, target, lines) => {
    expect(place([replace], target, lines)).toBeNull();
  });

  test('only where the credential says so', () => {
    const lines = [`X-Other: ${PLACEHOLDER}`, `Cookie: ${PLACEHOLDER}`];
    const target = `/${PLACEHOLDER}?other=${PLACEHOLDER}&keys=${PLACEHOLDER}`;
    expect(place([replace], target, lines)).toEqual({ target, lines, placed: 0 });
  });

  test('a bare request, as a client sends before it was asked for a key, goes on without', () => {
    expect(place([replace], '/p', ['A: b'])).toEqual({ target: '/p', lines: ['A: b'], placed: 0 });
  });

  test('each its own, the longest first, and nothing inside a secret is taken for one', () => {
    const one = secret(
      { kind: 'replace', placeholder: 'place-holder', headers: ['x-key'] },
      'place-holder-2 first',
    );
    const two = secret(
      { kind: 'replace', placeholder: 'place-holder-2', headers: ['x-key'] },
      'place-holder second',
    );
    expect(place([one, two], '/', ['X-Key: place-holder-2,place-holder'])).toEqual({
      target: '/',
      lines: ['X-Key: place-holder second,place-holder-2 first'],
      placed: 2,
    });
    expect(place([one, two], '/', ['X-Key: place-holder'])?.placed).toBe(1);
  });
});

describe('several secrets', () => {
  test('in different places are all put on', () => {
    const placed = place(
      [header, basic, query, { ...replace, headers: ['x-key'] }],
      '/p?key=sallyport-managed',
      [],
    );
    expect(placed).toEqual({
      target: `/p?key=${ENCODED}&api_key=${ENCODED}`,
      lines: [`x-api-key: key=${VALUE}`, `authorization: Basic ${base64(`x-access-token:${VALUE}`)}`],
      placed: 4,
    });
  });

  test.each<[string, PlacementInput, PlacementInput]>([
    ['the same header', header, { header: 'x_api_key', format: '{}' }],
    ['authorization twice', basic, { header: 'authorization', format: '{}' }],
    ['the same parameter', query, { kind: 'query', name: 'API.KEY' }],
    ['a header that another rewrites', basic, replace],
    ['a parameter that another rewrites', { kind: 'query', name: 'KEY' }, replace],
    ['the same placeholder in the same header', replace, { kind: 'replace', headers: ['x-key'] }],
  ])('for one place are none: %s', (_, one, other) => {
    expect(place([one, other], '/', [])).toBeNull();
    expect(place([other, one], '/', [])).toBeNull();
  });

  test('no secret at all is no request', () => {
    expect(place([], '/', [])).toBeNull();
  });
});

test.each<[string, PlacementInput, string, boolean]>([
  ['an injected header', header, 'X-API_key: 1', false],
  ['authorization for Basic', basic, 'Authorization: 1', false],
  ['a rewritten header', { kind: 'replace', headers: ['x-sign'] }, 'X_Sign: 1', false],
  ['an injected header with dots', header, 'X.Api.Key: 1', false],
  ['another method', header, 'X-HTTP-Method-Override: DELETE', false],
  ['another method, folded', query, 'x_method.override: DELETE', false],
  ['another path', basic, 'X-Original-URL: /admin', false],
  ['another path, folded', basic, 'X_Rewrite_URL: /admin', false],
  ['what frames, with a dot', query, 'Content.Length: 1', false],
  ['a checksum', header, 'X-Checksum: 1', true],
  ['a checksum beside a parameter', query, 'X-Checksum: 1', true],
  ['what frames', query, 'Content-Length: 1', false],
])('a trailer passes unless it is in a secret’s place: %s', (_, placement, line, passes) => {
  const [trailer] = parseHeaderLines([line], 0) ?? [];
  expect(trailer && mayTrail(trailer, [secret(placement)])).toBe(passes);
});
