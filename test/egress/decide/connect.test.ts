import { describe, expect, it } from 'vitest';
import { HostPattern, parseHostPattern } from '../../../core-lite/network/host-pattern.ts';
import { parseTarget } from '../../../core-lite/network/target.ts';
import {
  type ConnectFacts,
  decideConnect,
  decideMode,
  decidePlain,
  decideStanding,
  traceConnect,
} from '../../../egress/decide/connect.ts';

interface Row {
  readonly allow?: readonly string[];
  readonly mode?: 'enforce' | 'report';
  /** The hosts of one binding each. */
  readonly bound?: readonly string[];
  readonly open?: number;
  readonly recent?: number;
  readonly maxConnections?: number;
  readonly newPerSecond?: number;
}

function factsOf(to: string, row: Row): ConnectFacts {
  const target = parseTarget(to);
  if (target === null) throw new TypeError(to);
  return {
    target,
    network: {
      mode: row.mode ?? 'enforce',
      allow: (row.allow ?? ALLOW).map(pattern),
      maxConnections: row.maxConnections ?? 10,
      newPerSecond: row.newPerSecond ?? 5,
    },
    bindings: (row.bound ?? []).map((host) => ({ hosts: [pattern(host)] })),
    open: row.open ?? 0,
    recent: row.recent ?? 0,
  };
}

function pattern(text: string): HostPattern {
  const parsed = parseHostPattern(text);
  if (parsed instanceof HostPattern) return parsed;
  throw new TypeError(`${text}: ${parsed.message}`);
}

const ALLOW = ['open.test', '*.wild.test', 'api.bound.test', 'odd.test:8443', '*.odd.test:8443', 'localhost'];
const REPORT: Row = { mode: 'report' };
const BOUND: Row = { bound: ['api.bound.test', '*.deep.test', 'port.test:8443'] };

const ROWS: readonly [name: string, to: string, row: Row, verdict: string, reason: string][] = [
  // The allowlist.
  ['an exact entry', 'open.test:443', {}, 'allowed', 'allowlisted'],
  ['an exact entry on 80', 'open.test:80', {}, 'allowed', 'allowlisted'],
  ['an exact entry in capitals', 'OPEN.TEST:443', {}, 'allowed', 'allowlisted'],
  ['below a suffix', 'a.wild.test:443', {}, 'allowed', 'allowlisted'],
  ['deep below a suffix', 'a.b.c.wild.test:80', {}, 'allowed', 'allowlisted'],
  ['an entry with its port', 'odd.test:8443', {}, 'allowed', 'allowlisted'],
  ['a suffix with its port', 'a.odd.test:8443', {}, 'allowed', 'allowlisted'],
  ['localhost when it is listed: its addresses are judged', 'localhost:443', {}, 'allowed', 'allowlisted'],
  ['a host that is not listed', 'denied.test:443', {}, 'denied', 'host_denied'],
  ['the suffix itself', 'wild.test:443', {}, 'denied', 'host_denied'],
  ['a name glued to the suffix', 'evilwild.test:443', {}, 'denied', 'host_denied'],
  ['a label before the glued name', 'x.evilwild.test:443', {}, 'denied', 'host_denied'],
  ['a name that begins like an entry', 'open.test.evil.test:443', {}, 'denied', 'host_denied'],
  ['below an exact entry', 'sub.open.test:443', {}, 'denied', 'host_denied'],
  ['a dot of an entry replaced', 'openxtest:443', {}, 'denied', 'host_denied'],
  ['a dot of a suffix replaced', 'awildxtest:443', {}, 'denied', 'host_denied'],
  ['the top label', 'test:443', {}, 'denied', 'host_denied'],
  ['the name of an object property', 'constructor:443', {}, 'denied', 'host_denied'],
  ['anything under an empty list', 'open.test:443', { allow: [] }, 'denied', 'host_denied'],

  // Literals, in every mode and list.
  ['an address', '127.0.0.1:443', {}, 'denied', 'ip_literal'],
  ['a public address', '8.8.8.8:443', {}, 'denied', 'ip_literal'],
  ['an address in report mode', '8.8.8.8:443', REPORT, 'denied', 'ip_literal'],
  ['an IPv6 address', '[2606:4700::1111]:443', REPORT, 'denied', 'ip_literal'],
  ['a number', '2130706433:443', REPORT, 'denied', 'ip_literal'],
  ['a name that ends like an address', 'a.wild.0x7f:443', REPORT, 'denied', 'ip_literal'],
  ['an address on a closed port', '10.0.0.1:22', {}, 'denied', 'ip_literal'],

  // Ports.
  ...[1, 22, 25, 444, 5432, 6379, 8080, 8443, 65_535].map((port): (typeof ROWS)[number] => [
    'a port that nothing opens',
    `open.test:${port}`,
    {},
    'denied',
    'port_denied',
  ]),
  ['such a port in report mode', 'open.test:22', REPORT, 'denied', 'port_denied'],
  ['such a port of a host that is not listed', 'denied.test:22', {}, 'denied', 'port_denied'],
  ['a port that an entry opens for another host', 'open.test:8443', {}, 'denied', 'port_denied'],
  ['443 of a host that is listed with another port', 'odd.test:443', {}, 'denied', 'port_denied'],
  ['443 of such a host in report mode', 'odd.test:443', REPORT, 'reported', 'reported'],
  ['the listed port in report mode', 'odd.test:8443', REPORT, 'allowed', 'allowlisted'],

  // Report mode.
  ['a listed host in report mode', 'open.test:443', REPORT, 'allowed', 'allowlisted'],
  ['a host that is not listed in report mode', 'denied.test:443', REPORT, 'reported', 'reported'],
  [
    'any host under an empty list in report mode',
    'a.test:80',
    { ...REPORT, allow: [] },
    'reported',
    'reported',
  ],

  // Bound hosts.
  ['a bound host', 'api.bound.test:443', BOUND, 'allowed', 'allowlisted'],
  ['a bound host on 80', 'api.bound.test:80', BOUND, 'allowed', 'allowlisted'],
  [
    'a sibling of a bound host',
    'free.bound.test:443',
    { ...BOUND, allow: ['*.bound.test'] },
    'allowed',
    'allowlisted',
  ],
  ['below a bound suffix', 'a.b.deep.test:443', { ...BOUND, allow: ['*.test'] }, 'allowed', 'allowlisted'],
  ['the bound suffix itself', 'deep.test:443', { ...BOUND, allow: ['*.test'] }, 'allowed', 'allowlisted'],
  [
    'the port of a binding',
    'port.test:8443',
    { ...BOUND, allow: ['port.test:8443'] },
    'allowed',
    'allowlisted',
  ],
  [
    '443 where the binding names a port',
    'port.test:443',
    { ...BOUND, allow: ['port.test'] },
    'allowed',
    'allowlisted',
  ],
  ['a bound host in report mode', 'api.bound.test:443', { ...BOUND, ...REPORT }, 'allowed', 'allowlisted'],
  [
    'a bound host that report mode would let through',
    'a.deep.test:443',
    { ...BOUND, ...REPORT },
    'reported',
    'reported',
  ],
  ['a bound host that is not listed', 'a.deep.test:443', BOUND, 'denied', 'host_denied'],

  // Limits.
  ['the last connection', 'open.test:443', { open: 9, recent: 4 }, 'allowed', 'allowlisted'],
  ['one connection too many', 'open.test:443', { open: 10 }, 'denied', 'connection_limit'],
  ['far too many connections', 'open.test:443', { open: 99 }, 'denied', 'connection_limit'],
  ['one too many in a second', 'open.test:443', { recent: 5 }, 'denied', 'rate_limited'],
  ['both', 'open.test:443', { open: 10, recent: 5 }, 'denied', 'rate_limited'],
  ['a limit of none', 'open.test:443', { maxConnections: 0 }, 'denied', 'connection_limit'],
  ['a rate of none', 'open.test:443', { newPerSecond: 0 }, 'denied', 'rate_limited'],
  [
    'a limit that is no number',
    'open.test:443',
    { maxConnections: Number.NaN },
    'denied',
    'connection_limit',
  ],
  ['a rate that is no number', 'open.test:443', { newPerSecond: Number.NaN }, 'denied', 'rate_limited'],
  ['too many in report mode', 'denied.test:443', { ...REPORT, open: 10 }, 'denied', 'connection_limit'],
  ['too fast in report mode', 'denied.test:443', { ...REPORT, recent: 5 }, 'denied', 'rate_limited'],
  // What waiting does not mend is never answered with "try again".
  ['a denied host too fast', 'denied.test:443', { recent: 5 }, 'denied', 'rate_limited'],
  ['a denied host over the limit', 'denied.test:443', { open: 10 }, 'denied', 'host_denied'],
  ['a closed port over the limit', 'open.test:22', { open: 10 }, 'denied', 'port_denied'],
  ['an address over the limit', '10.0.0.1:443', { open: 10 }, 'denied', 'ip_literal'],
  ['a bound host over the limit', 'api.bound.test:443', { ...BOUND, open: 10 }, 'denied', 'connection_limit'],
];

const LIMIT_REASONS = ['connection_limit', 'rate_limited'];

describe('whether a plain request may go on', () => {
  it.each(ROWS.filter(([, , row]) => row.bound === undefined))('as a CONNECT may: %s', (_, to, row) => {
    expect(decidePlain(factsOf(to, row))).toEqual(decideConnect(factsOf(to, row)));
  });

  it.each([
    ['api.bound.test:443', 'tls_required'],
    ['api.bound.test:80', 'allowlisted'],
    ['other.test:443', 'host_denied'],
  ])('where a secret is bound: %s', (to, reason) => {
    expect(decidePlain(factsOf(to, BOUND)).reason).toBe(reason);
    expect(decidePlain(factsOf(to, { ...BOUND, mode: 'report' })).reason).toBe(
      reason === 'host_denied' ? 'reported' : reason,
    );
  });
});

describe('whether a connection may be opened', () => {
  it.each(ROWS)('%s: %s', (_, to, row, verdict, reason) => {
    const facts = factsOf(to, row);
    expect(decideConnect(facts)).toMatchObject({ verdict, reason });
    // The trace is the same list of rules, not a second opinion.
    const { decision, rules } = traceConnect(facts);
    expect(decision).toEqual(decideConnect(facts));
    expect(rules.at(-1)?.decision).toEqual(decision);
    for (const earlier of rules.slice(0, -1)) expect(earlier.decision).toBeNull();
    for (const { why } of rules) expect(why).toMatch(/^[^\n]+[^.\n]$/);
  });

  it('gives every reason that is its own', () => {
    expect(new Set(ROWS.map(([, , , , reason]) => reason))).toEqual(
      new Set(['allowlisted', 'reported', 'ip_literal', 'port_denied', 'host_denied', ...LIMIT_REASONS]),
    );
  });
});

describe('whether an open connection may stay', () => {
  it.each(ROWS.filter(([, , , , reason]) => !LIMIT_REASONS.includes(reason)))(
    '%s: %s',
    (_, to, row, verdict, reason) => {
      expect(decideStanding(factsOf(to, row))).toMatchObject({ verdict, reason });
    },
  );

  it.each(ROWS.filter(([, , , , reason]) => LIMIT_REASONS.includes(reason)))(
    'not asked: %s',
    (_, to, row) => {
      expect(LIMIT_REASONS).not.toContain(decideStanding(factsOf(to, row)).reason);
    },
  );
});

describe('the trace', () => {
  it.each<[string, Row, readonly string[]]>([
    ['open.test:443', { recent: 5 }, ['rate_limit']],
    ['10.0.0.1:443', {}, ['rate_limit', 'literal']],
    ['open.test:22', {}, ['rate_limit', 'literal', 'port']],
    ['denied.test:443', {}, ['rate_limit', 'literal', 'port', 'host']],
    [
      'api.bound.test:443',
      BOUND,
      ['rate_limit', 'literal', 'port', 'host', 'bound', 'connection_limit', 'listed'],
    ],
    ['open.test:443', { open: 10 }, ['rate_limit', 'literal', 'port', 'host', 'bound', 'connection_limit']],
    ['open.test:443', {}, ['rate_limit', 'literal', 'port', 'host', 'bound', 'connection_limit', 'listed']],
    [
      'denied.test:443',
      REPORT,
      ['rate_limit', 'literal', 'port', 'host', 'bound', 'connection_limit', 'listed', 'report'],
    ],
  ])('of %s names the rules that were asked', (to, row, names) => {
    expect(traceConnect(factsOf(to, row)).rules.map(({ rule }) => rule)).toEqual(names);
  });

  it.each<[string, Row, string]>([
    ['10.0.0.1:443', {}, '10.0.0.1 is an IP address, or reads like one'],
    ['open.test:22', {}, '22 is neither 443 nor 80, and no entry of the allowlist opens open.test:22'],
    ['odd.test:443', {}, 'the allowlist opens odd.test at other ports only'],
    ['denied.test:443', {}, 'no entry of the allowlist covers denied.test'],
    ['open.test:443', { open: 10 }, '10 open, 10 may be'],
    ['open.test:443', { recent: 5 }, '5 opened in this second, 5 may be'],
    ['open.test:443', {}, 'open.test:443 is on the allowlist'],
    ['denied.test:443', REPORT, 'the mode of the environment is report'],
  ])('of %s says why', (to, row, why) => {
    expect(traceConnect(factsOf(to, row)).rules.at(-1)?.why).toBe(why);
  });
});

describe('what is done with it', () => {
  it.each<[string, string, Row, string]>([
    ['a bound host', 'api.bound.test:443', BOUND, 'interception'],
    ['a bound host on 80', 'api.bound.test:80', BOUND, 'tunnel'],
    ['a sibling of a bound host', 'free.bound.test:443', BOUND, 'tunnel'],
    ['below a bound suffix', 'a.b.deep.test:443', BOUND, 'interception'],
    ['the bound suffix itself', 'deep.test:443', BOUND, 'tunnel'],
    ['the port of a binding', 'port.test:8443', BOUND, 'interception'],
    ['443 where the binding names a port', 'port.test:443', BOUND, 'tunnel'],
    ['a host without a secret', 'open.test:443', {}, 'tunnel'],
  ])('%s', (_, to, row, mode) => {
    const facts = factsOf(to, row);
    expect(decideMode(facts)).toBe(mode);
    const saw = traceConnect({ ...facts, open: 0, recent: 0 }).rules.find(
      ({ rule }) => rule === 'bound',
    )?.why;
    if (saw)
      expect(saw).toContain(mode === 'interception' ? 'its TLS is terminated' : 'its bytes pass unread');
  });
});
