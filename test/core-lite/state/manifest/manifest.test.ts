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
  ])('%s', (_, input, manifest) => expect(parseManifest(input)).toEqual(manifest));

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
