/** Whether a declared MCP server may be asked, with which credentials. */
import { expect, it } from 'vitest';
import { Allow } from '../../../../core-lite/decision.ts';
import { parseOpenNetworks } from '../../../../core-lite/network/open-network.ts';
import { parseHostPatterns } from '../../../../core-lite/network/policy.ts';
import { parseUpstreamUrl, UpstreamUrl } from '../../../../core-lite/network/upstream-url.ts';
import { decideReach } from '../../../../gates/mcp/decide/reach.ts';

const credential = (hosts: string[], more: { kind?: 'bearer' | 'oauth'; user?: string } = {}) => ({
  kind: more.kind ?? ('bearer' as const),
  hosts: parseHostPatterns(hosts),
  user: more.user ?? null,
});
const fits = credential(['mcp.test']);

it.each([
  ['without a credential', 'https://mcp.test/mcp', [], 'declared'],
  ['with one that may go there', 'https://mcp.test/mcp', [fits], 'declared'],
  ['with two', 'https://mcp.test/mcp', [fits, fits], 'declared'],
  ['with one that is gone', 'https://mcp.test/mcp', [null], 'credential'],
  ['with one of two that may not', 'https://mcp.test/mcp', [fits, credential(['other.test'])], 'credential'],
  [
    'with one of a kind that no server takes',
    'https://mcp.test/mcp',
    [credential(['mcp.test'], { kind: 'oauth' })],
    'credential',
  ],
  ['with its user’s', 'https://mcp.test/mcp', [credential(['mcp.test'], { user: 'ann' })], 'declared'],
  [
    'with another person’s',
    'https://mcp.test/mcp',
    [credential(['mcp.test'], { user: 'bob' })],
    'credential',
  ],
  ['at a port that nobody named', 'https://mcp.test:4443/mcp', [], 'refused'],
  [
    'at a port that its credential names',
    'https://mcp.test:4443/mcp',
    [credential(['mcp.test:4443'])],
    'declared',
  ],
  ['at a port that the operator opened', 'https://open.test:4443/mcp', [], 'declared'],
  ['at an address', 'https://10.0.0.1/mcp', [], 'refused'],
])('a server %s', (_what, text, credentials, reason) => {
  const url = parseUpstreamUrl(text);
  const { networks: openNetworks } = parseOpenNetworks('open.test:4443=10.0.0.0/8');
  const decision = decideReach({
    url: url instanceof UpstreamUrl ? url : null,
    credentials,
    user: 'ann',
    openNetworks,
  });
  expect(decision.reason).toBe(reason);
  expect(decision instanceof Allow).toBe(reason === 'declared');
});
