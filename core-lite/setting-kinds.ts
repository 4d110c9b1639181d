/** The kinds of settings: what the text of each may be, and what it is read as. */
import { isIP } from 'node:net';
import { isHostName } from './network/host-name.ts';
import { type Nat64Prefix, parseNat64Prefixes } from './network/nat64.ts';
import { type OpenNetwork, parseOpenNetworks } from './network/open-network.ts';
import { type ParentProxy, parseParentProxy } from './network/parent-proxy.ts';
import { Secret } from './secret.ts';
import { isVariableName } from './vault/value-source.ts';

/** Where a service listens. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** A parsed value, or one line on what is wrong with the text. */
type Parsed<T> = { readonly value: T } | { readonly fault: string };

/** How a setting's text is read. */
export interface Kind<T> {
  readonly type: string;
  readonly secret: boolean;
  readonly parse: (text: string) => Parsed<T>;
}

const text: Kind<string> = { type: 'text', secret: false, parse: (value) => ({ value }) };
export const path: Kind<string> = { ...text, type: 'path' };
export const secret: Kind<Secret> = {
  type: 'secret',
  secret: true,
  parse: (value) => ({ value: new Secret(value) }),
};
export const postgresUrl: Kind<Secret> = {
  type: 'postgres URL',
  secret: true,
  parse: (value) =>
    /^postgres(ql)?:$/.test(URL.parse(value)?.protocol ?? '') && !/%(?![0-9a-f]{2})/i.test(value)
      ? { value: new Secret(value) }
      : { fault: 'is not a postgres:// URL (are all signs in its password percent-encoded?)' },
};
export const httpUrl: Kind<string> = {
  type: 'http URL',
  secret: false,
  parse: (value) =>
    /^https?:\/\/[^@]*$/.test(value) && URL.canParse(value)
      ? { value }
      : { fault: 'is not an http:// or https:// URL without a user' },
};
export const listen: Kind<ListenAddress> = { type: 'host:port', secret: false, parse: parseListen };
export const duration: Kind<number> = { type: 'duration', secret: false, parse: parseDuration };
export const dnsServers: Kind<readonly string[]> = {
  type: 'list of address[:port]',
  secret: false,
  parse: (value) => {
    const servers = value.split(',').map((entry) => entry.trim());
    const wrong = servers.find((server) => !isDnsServer(server));
    return wrong === undefined
      ? { value: servers }
      : { fault: `has ${JSON.stringify(wrong)}, which is no address[:port]` };
  },
};
export const count: Kind<number> = {
  type: 'number',
  secret: false,
  parse: (value) =>
    /^[1-9]\d{0,5}$/.test(value) ? { value: Number(value) } : { fault: 'is not a number from 1 on' },
};
export const level: Kind<string> = {
  type: 'debug|info|warn|error',
  secret: false,
  parse: (value) => (/^(debug|info|warn|error)$/.test(value) ? { value } : { fault: 'is not a level' }),
};
export const openNetworks: Kind<readonly OpenNetwork[]> = {
  type: 'list of host=cidr',
  secret: false,
  parse: (value) => {
    const { networks, faults } = parseOpenNetworks(value);
    return faults.length > 0 ? { fault: faults.join('; ') } : { value: networks };
  },
};
export const nat64Prefixes: Kind<readonly Nat64Prefix[]> = {
  type: 'list of prefixes',
  secret: false,
  parse: (value) => {
    const { prefixes, faults } = parseNat64Prefixes(value);
    return faults.length > 0 ? { fault: faults.join('; ') } : { value: prefixes };
  },
};

export const parentProxy: Kind<ParentProxy> = {
  type: 'proxy URL',
  secret: true,
  parse: (value) => {
    const proxy = parseParentProxy(value);
    return typeof proxy === 'string' ? { fault: proxy } : { value: proxy };
  },
};

export const hostNames: Kind<readonly string[]> = {
  type: 'list of host names',
  secret: false,
  parse: (value) => {
    const names = value.split(',').flatMap((entry) => entry.trim() || []);
    const wrong = names.find((name) => !isHostName(name));
    return wrong === undefined
      ? { value: names }
      : { fault: `has ${JSON.stringify(wrong)}, which is no host name` };
  },
};

export const ownNames: Kind<readonly string[]> = {
  type: 'list of host names and addresses',
  secret: false,
  parse: (value) => {
    const names = value.split(',').flatMap((entry) => entry.trim() || []);
    const wrong = names.find((name) => !isHostName(name) && isIP(name) === 0);
    return wrong === undefined
      ? { value: names }
      : { fault: `has ${JSON.stringify(wrong)}, which is no host name and no address` };
  },
};

export const secretVariables: Kind<readonly string[]> = {
  type: 'list of variables',
  secret: false,
  parse: (value) => {
    const names = value.split(',').flatMap((entry) => entry.trim() || []);
    const wrong = names.find((name) => !isVariableName(name));
    if (wrong !== undefined) return { fault: `has ${JSON.stringify(wrong)}, which is no name of a variable` };
    // Whoever may write a credential must not be able to send egress's own keys to a host.
    const own = names.find((name) => /^(SALLYPORT_|DATABASE_URL$|PG)/.test(name));
    return own === undefined ? { value: names } : { fault: `has ${own}, which is a setting` };
  },
};

/** As `node:dns` takes it: an address, or with a port `1.2.3.4:53` and `[::1]:53`. */
function isDnsServer(text: string): boolean {
  if (isIP(text) !== 0) return true;
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([\d.]+))(?::(\d{1,5}))?$/.exec(text);
  return isIP(match?.[1] ?? match?.[2] ?? '') !== 0 && Number(match?.[3] ?? 53) <= 65_535;
}

function parseListen(value: string): Parsed<ListenAddress> {
  const match = /^(\[[0-9a-fA-F:.]+\]|[^\s:[\]]+):(\d{1,5})$/.exec(value);
  const port = Number(match?.[2]);
  if (!match?.[1] || port > 65_535) return { fault: 'is not host:port' };
  return { value: { host: match[1].replace(/^\[|\]$/g, ''), port } };
}

function parseDuration(value: string): Parsed<number> {
  const match = /^(\d{1,6})(ms|s|m|h)$/.exec(value);
  const unit = UNIT_MS[match?.[2] ?? ''];
  if (!match || !unit) return { fault: 'is not a duration such as 500ms, 30s, 5m or 2h' };
  const ms = Number(match[1]) * unit;
  return ms <= MAX_TIMER_MS ? { value: ms } : { fault: 'is longer than 24 days' };
}

const MAX_TIMER_MS = 24 * 24 * 3_600_000; // Node's timers that are longer fire at once.
const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
