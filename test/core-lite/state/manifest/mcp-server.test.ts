import { describe, expect, it } from 'vitest';
import { isFault } from '../../../../core-lite/errors.ts';
import { parseManifest } from '../../../../core-lite/state/manifest/manifest.ts';
import type { McpServer } from '../../../../core-lite/state/manifest/mcp-server.ts';

const URL_OF_ONE = 'https://mcp.example/mcp';
const ONE: McpServer = {
  url: URL_OF_ONE,
  transport: 'auto',
  credential: null,
  via: null,
  stateless: false,
  timeoutMs: 300_000,
  tools: { allow: ['*'], deny: [] },
  hints: 'any',
  resultBytes: 1_048_576,
  onLargeResult: 'error',
  onChangedTool: 'report',
  allow: { sampling: false, elicitation: false, roots: false },
};
const declare = (changes: object): unknown => ({ mcpServers: { one: { url: URL_OF_ONE, ...changes } } });

describe('an MCP server that is taken', () => {
  it.each<[name: string, changes: Partial<Record<keyof McpServer, unknown>>, differs: Partial<McpServer>]>([
    ['with what it takes by itself', {}, {}],
    ['with fields that are undefined', { transport: undefined, tools: undefined, allow: undefined }, {}],
    ['http, which the gate judges', { url: 'http://mcp:8080/' }, { url: 'http://mcp:8080/' }],
    ['streamable-http', { transport: 'streamable-http' }, { transport: 'streamable-http' }],
    ['sse', { transport: 'sse' }, { transport: 'sse' }],
    ['a credential', { credential: 'team/mcp' }, { credential: 'team/mcp' }],
    ['no credential', { credential: null, via: null }, {}],
    [
      'another gateway',
      { via: { url: 'https://via.example/mcp' } },
      { via: { url: 'https://via.example/mcp', credential: null } },
    ],
    [
      'another gateway with its credential',
      { via: { url: 'https://via.example/mcp', credential: 'team/via' } },
      { via: { url: 'https://via.example/mcp', credential: 'team/via' } },
    ],
    ['stateless', { stateless: true }, { stateless: true }],
    ['the longest time', { timeoutMs: 3_600_000 }, { timeoutMs: 3_600_000 }],
    ['tools to allow', { tools: { allow: ['read_*'] } }, { tools: { allow: ['read_*'], deny: [] } }],
    [
      'tools to deny',
      { tools: { deny: ['Löschen alles'] } },
      { tools: { allow: ['*'], deny: ['Löschen alles'] } },
    ],
    ['no tool', { tools: { allow: [] } }, { tools: { allow: [], deny: [] } }],
    ['nothing destructive', { hints: 'not_destructive' }, { hints: 'not_destructive' }],
    ['reading only', { hints: 'read_only' }, { hints: 'read_only' }],
    ['the largest result', { resultBytes: 16_777_216 }, { resultBytes: 16_777_216 }],
    ['results cut', { onLargeResult: 'cut' }, { onLargeResult: 'cut' }],
    ['changed tools refused', { onChangedTool: 'refuse' }, { onChangedTool: 'refuse' }],
    [
      'something that it may ask',
      { allow: { sampling: true } },
      { allow: { sampling: true, elicitation: false, roots: false } },
    ],
  ])('%s', (_, changes, differs) => {
    expect(parseManifest(declare(changes)).mcpServers).toEqual({ one: { ...ONE, ...differs } });
  });

  it.each(['a', '9', 'a_b-c', 'a'.repeat(32)])('named %s', (name) => {
    expect(parseManifest({ mcpServers: { [name]: { url: URL_OF_ONE } } }).mcpServers).toEqual({
      [name]: ONE,
    });
  });
});

describe('an MCP server that is refused', () => {
  const at = 'manifest.mcpServers.one';
  it.each<[name: string, input: unknown, says: string]>([
    ['servers that are a list', { mcpServers: [] }, 'manifest.mcpServers is not an object'],
    ...['', 'A', '-a', '_a', 'a b', 'a/b', 'a'.repeat(33), 'constructor'].map(
      (name): [string, unknown, string] => [
        `a name: ${name}`,
        { mcpServers: { [name]: { url: URL_OF_ONE } } },
        'manifest.mcpServers has a name that is not',
      ],
    ),
    [
      'too many',
      {
        mcpServers: Object.fromEntries(
          Array.from({ length: 201 }, (_, place) => [`s${place}`, { url: URL_OF_ONE }]),
        ),
      },
      'manifest.mcpServers has more than 200 servers',
    ],
    ['one that is no object', { mcpServers: { one: URL_OF_ONE } }, `${at} is not an object`],
    ['an unknown field', declare({ command: 'npx' }), `${at} has a field beside url`],
    ['no URL', { mcpServers: { one: {} } }, `${at}.url is not a URL`],
    ['a long URL', declare({ url: `https://a.example/${'x'.repeat(2048)}` }), `${at}.url is not a URL`],
    ['an address', declare({ url: 'https://127.0.0.1/' }), `${at}.url is not called`],
    ['a user in the URL', declare({ url: 'https://u:p@a.example/' }), `${at}.url is not called`],
    ['another scheme', declare({ url: 'ws://a.example/' }), `${at}.url is not called`],
    ['another transport', declare({ transport: 'stdio' }), `${at}.transport is not one of auto`],
    ['null for a transport', declare({ transport: null }), `${at}.transport is not one of`],
    ['a credential without its vault', declare({ credential: 'key' }), `${at}.credential is not vault/name`],
    ['a gateway that is text', declare({ via: 'https://a.example/' }), `${at}.via is not an object`],
    ['a gateway without a URL', declare({ via: {} }), `${at}.via.url is not a URL`],
    [
      'a gateway with more',
      declare({ via: { url: URL_OF_ONE, headers: {} } }),
      `${at}.via has a field beside`,
    ],
    [
      'a gateway’s bad credential',
      declare({ via: { url: URL_OF_ONE, credential: 'x' } }),
      `${at}.via.credential`,
    ],
    ['stateless as text', declare({ stateless: 'yes' }), `${at}.stateless is not true or false`],
    ['no time', declare({ timeoutMs: 0 }), `${at}.timeoutMs is not`],
    ['too much time', declare({ timeoutMs: 3_600_001 }), `${at}.timeoutMs is not`],
    ['tools that are a list', declare({ tools: ['a'] }), `${at}.tools is not an object`],
    ['tools with more', declare({ tools: { only: [] } }), `${at}.tools has a field beside allow, deny`],
    ['a pattern that is no list', declare({ tools: { deny: '*' } }), `${at}.tools.deny is not a list`],
    ['an empty pattern', declare({ tools: { allow: ['a', ''] } }), `${at}.tools.allow[1] is not`],
    ['a pattern twice', declare({ tools: { allow: ['a', 'a'] } }), `${at}.tools.allow[1] is named twice`],
    ['a pattern with a line end', declare({ tools: { deny: ['a\n'] } }), `${at}.tools.deny[0] is not`],
    ['half a character', declare({ tools: { deny: ['\ud800'] } }), `${at}.tools.deny[0] is not`],
    ['another hint', declare({ hints: 'readonly' }), `${at}.hints is not one of any`],
    ['a result of nothing', declare({ resultBytes: 0 }), `${at}.resultBytes is not`],
    ['a result too large', declare({ resultBytes: 16_777_217 }), `${at}.resultBytes is not`],
    ['another way with large results', declare({ onLargeResult: 'drop' }), `${at}.onLargeResult is not`],
    ['another way with changed tools', declare({ onChangedTool: 'allow' }), `${at}.onChangedTool is not`],
    ['a list of what it may ask', declare({ allow: ['sampling'] }), `${at}.allow is not an object`],
    ['more that it may ask', declare({ allow: { tools: true } }), `${at}.allow has a field beside`],
    ['may ask as text', declare({ allow: { roots: 'true' } }), `${at}.allow.roots is not true or false`],
  ])('%s', (_, input, says) => {
    let thrown: unknown = null;
    try {
      parseManifest(input);
    } catch (error) {
      thrown = error;
    }
    expect(isFault(thrown, 'input_invalid')).toBe(true);
    expect((thrown as Error).message).toContain(says);
  });
});
