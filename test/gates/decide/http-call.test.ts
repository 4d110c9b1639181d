/** The decision on a call of an HTTP tool, as a table. */
import { describe, expect, it } from 'vitest';
import { parseOpenNetworks } from '../../../core-lite/network/open-network.ts';
import { parseHostPatterns } from '../../../core-lite/network/policy.ts';
import { parseUpstreamUrl, type UpstreamUrl } from '../../../core-lite/network/upstream-url.ts';
import { decideHttpCall, type HttpCallFacts } from '../../../gates/decide/http-call.ts';

const at = (text: string) => parseUpstreamUrl(text) as UpstreamUrl;
const credential = { kind: 'bearer', hosts: parseHostPatterns(['tool.test']), user: null } as const;
const tool = { credential: 'v/c' };
const bare = { tool: { credential: null }, credential: null };
const open = (text: string) => parseOpenNetworks(text).networks;
const FACTS: HttpCallFacts = {
  tool,
  url: at('https://tool.test/x'),
  credential,
  user: 'bob',
  openNetworks: [],
};

const ROWS: readonly (readonly [name: string, change: Partial<HttpCallFacts>, reason: string])[] = [
  ['a tool with its credential', {}, 'declared'],
  ['a tool without one', bare, 'declared'],
  ['headers', { credential: { ...credential, kind: 'headers' } }, 'declared'],
  ['no URL', { url: null }, 'http.refused'],
  ['a credential that is gone', { credential: null }, 'http.credential'],
  ['a model’s key', { credential: { ...credential, kind: 'model_key' } }, 'http.credential'],
  ['another person’s', { credential: { ...credential, user: 'ann' } }, 'http.credential'],
  ['one’s own', { credential: { ...credential, user: 'bob' } }, 'declared'],
  ['another host', { url: at('https://other.test/') }, 'http.credential'],
  ['in the clear', { url: at('http://tool.test/') }, 'http.credential'],
  ['a port that the credential does not name', { url: at('https://tool.test:8443/') }, 'http.credential'],
  [
    'a port that it names',
    {
      url: at('https://tool.test:8443/'),
      credential: { ...credential, hosts: parseHostPatterns(['tool.test:8443']) },
    },
    'declared',
  ],
  ['a port that nobody names', { ...bare, url: at('https://tool.test:8443/') }, 'http.refused'],
  [
    'a network without a port',
    { ...bare, url: at('https://tool.test:8443/'), openNetworks: open('tool.test=10.0.0.0/8') },
    'http.refused',
  ],
  [
    'a network with the port',
    { ...bare, url: at('https://tool.test:8443/'), openNetworks: open('tool.test:8443=10.0.0.0/8') },
    'declared',
  ],
  ['port 80 without a secret: the address decides', { ...bare, url: at('http://tool.test/') }, 'declared'],
];

describe('a call of an HTTP tool', () => {
  for (const [name, change, reason] of ROWS) {
    it(`${reason}: ${name}`, () => {
      const decision = decideHttpCall({ ...FACTS, ...change });
      expect([decision.verdict, decision.reason]).toEqual([
        reason === 'declared' ? 'allowed' : 'denied',
        reason,
      ]);
    });
  }
});
