import { describe, expect, test } from 'vitest';
import {
  type PlacementInput,
  parsePlacement,
  readStoredPlacement,
} from '../../../core-lite/vault/placement.ts';
import { parseRules } from '../../../core-lite/vault/request-rules.ts';
import { checkValueSource } from '../../../core-lite/vault/value-source.ts';

const invalid = expect.objectContaining({ code: 'input_invalid' });

function faultOf(parse: () => unknown): unknown {
  try {
    return parse();
  } catch (error) {
    return error;
  }
}

describe('a placement', () => {
  test.each<[string, PlacementInput | undefined, object]>([
    ['none', undefined, { kind: 'header', header: 'authorization', format: 'Bearer {}' }],
    [
      'a header without its kind',
      { header: 'X-A', format: '{}' },
      { kind: 'header', header: 'x-a', format: '{}' },
    ],
    ['Basic', { kind: 'basic', user: 'x-access-token' }, { kind: 'basic', user: 'x-access-token' }],
    ['Basic without a user', { kind: 'basic', user: '' }, { kind: 'basic', user: '' }],
    ['a parameter', { kind: 'query', name: 'api[key]' }, { kind: 'query', name: 'api[key]' }],
    [
      'the sentinel in a header',
      { kind: 'replace', headers: ['X-A', 'x-a'] },
      { kind: 'replace', placeholder: 'sallyport-managed', headers: ['x-a'], query: [] },
    ],
    [
      'its own placeholder',
      { kind: 'replace', placeholder: 'ghp_0000', query: ['a'] },
      { kind: 'replace', placeholder: 'ghp_0000', headers: [], query: ['a'] },
    ],
  ])('%s', (_, input, placement) => {
    expect(parsePlacement(input)).toEqual(placement);
  });

  test.each<[string, PlacementInput]>([
    ['a user with a colon', { kind: 'basic', user: 'a:b' }],
    ['a user with a line end', { kind: 'basic', user: 'a\n' }],
    ['a user that is not ASCII', { kind: 'basic', user: 'ü' }],
    ['a parameter without a name', { kind: 'query', name: '' }],
    ['a parameter with a blank', { kind: 'query', name: 'a b' }],
    ['a placeholder nowhere', { kind: 'replace' }],
    ['a short placeholder', { kind: 'replace', placeholder: 'short', headers: ['x'] }],
    ['a placeholder that is encoded', { kind: 'replace', placeholder: 'place%20holder', headers: ['x'] }],
    ['a placeholder in a header of the connection', { kind: 'replace', headers: ['Host'] }],
    ['a placeholder in no header name', { kind: 'replace', headers: ['a b'] }],
  ])('refused: %s', (_, input) => {
    expect(faultOf(() => parsePlacement(input))).toEqual(invalid);
  });

  test('stored without a kind is a header', () => {
    const stored = { header: 'x', format: '{}' };
    expect(readStoredPlacement(stored)).toEqual({ kind: 'header', ...stored });
    expect(readStoredPlacement({ kind: 'basic', user: 'u' })).toEqual({ kind: 'basic', user: 'u' });
  });
});

describe('rules', () => {
  test.each(['/', '/v1/', '/v1/models', '/a%20b/', '/v1.2/~u/@s', '/a:b,c'])('for the path %s', (path) => {
    expect(parseRules({ paths: [path, path] })).toEqual({ paths: [path], methods: [] });
  });

  test.each([
    '',
    'v1/',
    '/v1//',
    '//',
    '/v1/../x',
    '/.',
    '/v1/...',
    '/a;b',
    '/a\\b',
    '/a?b',
    '/a#b',
    '/a b',
    '/a%2fb',
    '/a%2Eb',
    '/a%5cb',
    '/a%3Bb',
    '/a%252f',
    '/a%00',
    '/a%',
    '/*',
    '/ü',
  ])('refused: the path %j', (path) => {
    if (path === '/*') expect(parseRules({ paths: [path] }).paths).toEqual([path]);
    else expect(faultOf(() => parseRules({ paths: [path] }))).toEqual(invalid);
  });

  test.each(['get', '', 'GET ', 'G1'])('refused: the method %j', (method) => {
    expect(faultOf(() => parseRules({ methods: [method] }))).toEqual(invalid);
  });
});

test.each(['env:TOKEN', 'file:token', 'file:git/token.txt', 'file:..data'])(
  'a source of a value: %s',
  (text) => {
    expect(checkValueSource(text)).toBe(text);
  },
);

test.each([
  '',
  'TOKEN',
  'env:',
  'env:A-B',
  'env:1A',
  'file:',
  'file:/etc/passwd',
  'file:../x',
  'file:a/../b',
  'file:a/./b',
  'file:a//b',
  'file:a/',
  'file:a\0',
  'file:a b',
  'http:x',
  `file:${'a/'.repeat(300)}b`,
])('no source of a value: %j', (text) => {
  expect(faultOf(() => checkValueSource(text))).toEqual(invalid);
});
