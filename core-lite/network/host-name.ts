/**
 * What a host name is: letters, digits and hyphens (RFC 1123), nothing else. No underscore: RFC 1123 has none for
 * hosts and public CAs may not put one into a certificate, so a TLS host that needs it is next to unknown. No name that
 * some library might read as an IP address is ever judged as a name.
 */

/** A name of LDH labels as a pattern without anchors, in either case; `isHostName` says the rest. */
export const HOST_NAME = String.raw`[0-9A-Za-z](?:[0-9A-Za-z-]{0,61}[0-9A-Za-z])?(?:\.[0-9A-Za-z](?:[0-9A-Za-z-]{0,61}[0-9A-Za-z])?)*`;

/** The longest name, in bytes (RFC 1035 section 2.3.4, without the root). */
export const MAX_NAME_LENGTH = 253;

/** Whether `text` is a host name in its one spelling: lower case, A-labels, no trailing dot, no IP address. */
export function isHostName(text: string): boolean {
  return text.length <= MAX_NAME_LENGTH && CANONICAL.test(text) && !isAddressSpelling(text);
}

/**
 * Whether a library might read `host` as an IPv4 address: its last label is a number, in decimal, octal or hex
 * ("ends in a number" of the WHATWG URL standard). It covers `127.1`, `0x7f.1`, `2130706433` and `0x`; no top-level
 * domain is a number (RFC 3696 section 2), so no real name is lost.
 */
export function isAddressSpelling(host: string): boolean {
  return ENDS_IN_NUMBER.test(host);
}

/**
 * Whether the name alone says that it leads inside, whoever looks it up: loopback (RFC 6761 section 6.3), the metadata
 * server of a cloud, the API of a cluster, the host of a container; and every name of one label, since a search list or
 * a hosts file answers it and never the public DNS. Asked where a parent proxy looks names up and no address can be judged.
 */
export function isInsideName(host: string): boolean {
  const isSingleLabel = !/[.:]/.test(host);
  return isSingleLabel || INSIDE_NAMES.has(host) || host.endsWith('.localhost');
}

const INSIDE_NAMES: ReadonlySet<string> = new Set([
  'localhost.localdomain',
  'localhost4.localdomain4',
  'localhost6.localdomain6',
  'metadata.google.internal',
  'metadata.goog',
  'metadata.tencentyun.com',
  'instance-data.ec2.internal',
  'kubernetes.default',
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster.local',
  'host.docker.internal',
  'gateway.docker.internal',
  'host.containers.internal',
]);
const CANONICAL = new RegExp(`^(?!.*[A-Z])${HOST_NAME}$`);
const ENDS_IN_NUMBER = /(?:^|\.)(?:[0-9]+|0[xX][0-9A-Fa-f]*)$/;
