/** The way to an upstream: which addresses may be dialled, in the clear or not, and who shares a connection. */
import { afterAll, describe, expect, it } from 'vitest';
import { Allow } from '../../../core-lite/decision.ts';
import { parseOpenNetworks } from '../../../core-lite/network/open-network.ts';
import { parseHostPatterns } from '../../../core-lite/network/policy.ts';
import { Resolver } from '../../../core-lite/network/resolve.ts';
import { parseUpstreamUrl, type UpstreamUrl } from '../../../core-lite/network/upstream-url.ts';
import type { GateCredential } from '../../../core-lite/vault/gate-credentials.ts';
import { Upstreams } from '../../../gates/act/upstream.ts';

const hosts = new Map([
  ['public.test', ['8.8.8.8']],
  ['private.test', ['10.0.0.1']],
  ['metadata.test', ['169.254.169.254']],
  ['mixed.test', ['10.0.0.1', '8.8.8.8']],
  ['opened.test', ['10.0.0.1', '8.8.8.8']],
]);
const resolver = new Resolver({ hosts, servers: ['127.0.0.1:9'], timeoutMs: 200, now: () => 0 });
const openNetworks = parseOpenNetworks('opened.test=10.0.0.0/8,localhost=127.0.0.0/8').networks;
const upstreams = new Upstreams({ resolver, openNetworks, nat64Prefixes: [], extraRoots: [] });
afterAll(() => upstreams.close());

const proof = new Allow('declared');
const credential = (version: number): GateCredential => ({
  id: 'crd_1',
  version,
  kind: 'bearer',
  hosts: parseHostPatterns(['public.test']),
  user: null,
  parts: {},
});
const reach = (url: string, by: GateCredential | null = null) =>
  upstreams.reach(proof, parseUpstreamUrl(url) as UpstreamUrl, by, new AbortController().signal);

const ROWS = [
  ['https://public.test', 'pool'],
  ['https://mixed.test', 'pool'],
  ['https://private.test', 'address_refused'],
  ['https://metadata.test', 'address_refused'],
  ['https://nowhere.test', 'resolve_failed'],
  ['http://public.test', 'plaintext_refused'],
  ['http://mixed.test', 'plaintext_refused'],
  ['http://opened.test', 'pool'],
  ['http://localhost:1', 'pool'],
] as const;

describe('the way to an upstream', () => {
  for (const [url, expected] of ROWS) {
    it(`${expected}: ${url}`, async () => {
      const found = await reach(url);
      expect(typeof found === 'string' ? found : 'pool').toBe(expected);
    });
  }

  it('is shared by calls with the same credential only, as it is now', async () => {
    const first = await reach('https://public.test', credential(1));
    expect(await reach('https://public.test/another', credential(1))).toBe(first);
    for (const other of [
      reach('https://public.test', credential(2)),
      reach('https://public.test'),
      reach('https://public.test:444', credential(1)),
    ]) {
      expect(await other).not.toBe(first);
    }
  });

  it('is not looked for when nobody waits any more', async () => {
    const gone = AbortSignal.abort(new Error('gone'));
    const url = parseUpstreamUrl('https://public.test') as UpstreamUrl;
    await expect(upstreams.reach(proof, url, null, gone)).rejects.toThrow('gone');
  });
});
