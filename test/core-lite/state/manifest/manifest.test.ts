import { describe, expect, it } from 'vitest';
import { isFault } from '../../../../core-lite/errors.ts';
import {
  listCredentialNames,
  type Manifest,
  parseManifest,
  restoreManifest,
} from '../../../../core-lite/state/manifest/manifest.ts';

const NOTHING = { models: null, mcpServers: {}, httpTools: {} };
const TOOL = { url: 'https://api.example/v1/search', method: 'POST', inputSchema: { type: 'object' } };
const tool = (changes: object): unknown => ({ httpTools: { search: { ...TOOL, ...changes } } });
const nested = (depth: number): object => (depth === 0 ? {} : { properties: nested(depth - 1) });
const many = <T>(count: number, make: (place: number) => T): T[] =>
  Array.from({ length: count }, (_, place) => make(place));

describe('a manifest that is taken', () => {
  it.each<[name: string, input: unknown, manifest: Manifest]>([
    ['empty', {}, NOTHING],
    ['every model', { models: null }, NOTHING],
    ['no model', { models: [] }, { ...NOTHING, models: [] }],
    [
      'models',
      { models: ['fixture/echo', 'gpt-5.1', 'a:b@c'] },
      { ...NOTHING, models: ['fixture/echo', 'gpt-5.1', 'a:b@c'] },
    ],
    [
      'a tool with what it takes by itself',
      tool({}),
      {
        ...NOTHING,
        httpTools: { search: { ...TOOL, method: 'POST', credential: null, timeoutMs: 30_000 } },
      },
    ],
    [
      'a tool with everything',
      tool({ method: 'DELETE', credential: 'team/search-key', timeoutMs: 300_000 }),
      {
        ...NOTHING,
        httpTools: {
          search: { ...TOOL, method: 'DELETE', credential: 'team/search-key', timeoutMs: 300_000 },
        },
      },
    ],
  ])('%s', (_, input, manifest) => expect(parseManifest(input)).toEqual(manifest));

  it.each([
    ['HTTPS://API.Example:443/a/../b', 'https://api.example/b'],
    ['https://api.example\\b', 'https://api.example/b'],
    ['http://api.example/a?b=c', 'http://api.example/a?b=c'],
  ])('has URLs in one spelling: %s', (url, spelled) => {
    expect(parseManifest(tool({ url })).httpTools['search']?.url).toBe(spelled);
  });

  it.each([
    ['parsed', parseManifest({})],
    ['out of a row', restoreManifest(NOTHING)],
    ['out of a row from before there were servers', restoreManifest({ models: null, httpTools: {} })],
  ])('finds nothing that nobody declared: %s', (_, { mcpServers, httpTools }) => {
    for (const name of ['constructor', 'toString', '__proto__']) {
      expect(httpTools[name]).toBeUndefined();
      expect(mcpServers[name]).toBeUndefined();
    }
  });

  it('names each credential once', () => {
    const credential = 'team/key';
    const httpTools = { a: { ...TOOL, credential }, b: { ...TOOL, credential }, c: TOOL };
    const [url, via] = ['https://mcp.example/', { url: 'https://via.example/', credential: 'team/via' }];
    const mcpServers = { a: { url, credential, via }, b: { url, credential: 'team/mcp' }, c: { url } };
    const names = listCredentialNames(parseManifest({ mcpServers, httpTools }));
    expect(names.toSorted()).toEqual([credential, 'team/mcp', 'team/via']);
  });
});

describe('a manifest that is refused', () => {
  const at = 'manifest.httpTools.search';
  it.each<[name: string, input: unknown, says: string]>([
    ['not an object', null, 'manifest is not an object'],
    ['a list', [], 'manifest is not an object'],
    ['an unknown field', { servers: {} }, 'manifest has a field beside models, mcpServers, httpTools'],
    ['a misspelt field', { model: ['a'] }, 'manifest has a field beside'],
    ['models that are no list', { models: 'gpt' }, 'manifest.models is not a list'],
    ['a model that is no text', { models: ['a', 7] }, 'manifest.models[1] is not'],
    ['a model with a space', { models: ['a b'] }, 'manifest.models[0] is not'],
    ['an empty model', { models: [''] }, 'manifest.models[0] is not'],
    ['a model with a long name', { models: ['a'.repeat(129)] }, 'manifest.models[0] is not'],
    ['a model twice', { models: ['a', 'b', 'a'] }, 'manifest.models[2] is named twice'],
    ['too many models', { models: many(201, (place) => `m${place}`) }, 'manifest.models has more than 200'],
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
  ])('%s', (_, input, says) => {
    const fault = faultOf(() => parseManifest(input));
    expect(isFault(fault, 'input_invalid')).toBe(true);
    expect((fault as Error).message).toContain(says);
    expect((fault as Error).message).not.toContain('\n');
  });
});

function faultOf(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  return null;
}
