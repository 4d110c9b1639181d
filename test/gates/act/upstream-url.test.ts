/** Where an HTTP tool and a provider may be: one spelling, never an address. */
import { describe, expect, it } from 'vitest';
import { parseUpstreamUrl } from '../../../core-lite/network/upstream-url.ts';
import { findService } from '../../../core-lite/providers/catalogue.ts';
import type { Service } from '../../../core-lite/providers/provider.ts';
import { providerPath } from '../../../gates/act/provider-path.ts';

const GOOD = [
  ['https://api.openai.com/v1', 'api.openai.com', 443, '/v1', '/v1/chat/completions'],
  ['https://api.anthropic.com', 'api.anthropic.com', 443, '', '/v1/chat/completions'],
  ['http://localhost:11434/', 'localhost', 11434, '', '/v1/chat/completions'],
  ['https://x.test/v1beta/openai/', 'x.test', 443, '/v1beta/openai', '/v1beta/openai/chat/completions'],
  ['https://x.test/api', 'x.test', 443, '/api', '/api/v1/chat/completions'],
] as const;
const BAD = [
  '',
  'x.test',
  'ftp://x.test',
  'https://user@x.test',
  'https://x.test@127.0.0.1/',
  'https://127.0.0.1/',
  'https://[::1]/',
  'https://2130706433/',
  'https://0x7f.1/',
  'https://x.test:0/',
  'https://x.test:70000/',
  'https://x.test/#f',
  'https://x.test/a b',
  'https://x.test\\@y.test/',
  'https://x.test/../a',
  'https://x.test/%2e%2e/a',
  'https://x.test//a',
  'https://x.test/a\r\nX: 1',
  'https://x.test./',
  'https://ünicode.test/',
];

const CHAT = findService('custom', 'openai') as Service;

describe('the URL of an upstream', () => {
  for (const [text, host, port, path, call] of GOOD) {
    it(`is taken: ${text}`, () => {
      const url = parseUpstreamUrl(text);
      if (typeof url === 'string') throw new Error(url);
      expect([url.target.host, url.target.port, url.path]).toEqual([host, port, path]);
      expect(providerPath(url, CHAT, { model: 'm', operation: '', query: '' })).toBe(call);
    });
  }
  for (const text of BAD)
    it(`is refused: ${JSON.stringify(text)}`, () =>
      expect(parseUpstreamUrl(text)).toEqual(expect.any(String)));
});
