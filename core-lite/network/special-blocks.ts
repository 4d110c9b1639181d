/**
 * The one table of address blocks that are not the public internet: both IANA special-purpose address registries
 * (iana-ipv4-special-registry, iana-ipv6-special-registry), and the metadata endpoints of clouds.
 * Blocks that IANA calls globally reachable (AS112, AMT, relay anycast) are here too: nobody serves an application
 * there, and the nearest machine that answers for them may stand inside the operator's own network.
 * The smallest block that contains an address names it.
 */

/** [block, what its addresses are, where that is written] */
export const SPECIAL_BLOCKS = [
  ['0.0.0.0/8', 'this_network', 'RFC 791 section 3.2'],
  ['0.0.0.0/32', 'unspecified', 'RFC 1122 section 3.2.1.3; a dial to it reaches loopback on Linux'],
  ['10.0.0.0/8', 'private', 'RFC 1918'],
  ['100.64.0.0/10', 'shared', 'RFC 6598'],
  ['100.100.100.200/32', 'metadata', 'Alibaba Cloud: instance metadata'],
  ['127.0.0.0/8', 'loopback', 'RFC 1122 section 3.2.1.3'],
  ['168.63.129.16/32', 'metadata', 'Azure: platform endpoint, outside every reserved block'],
  ['169.254.0.0/16', 'link_local', 'RFC 3927'],
  ['169.254.169.254/32', 'metadata', 'AWS, Azure, Google Cloud, Oracle, OpenStack: instance metadata'],
  ['169.254.170.2/32', 'metadata', 'AWS: container credentials'],
  ['169.254.170.23/32', 'metadata', 'AWS: pod identity credentials'],
  ['172.16.0.0/12', 'private', 'RFC 1918'],
  ['192.0.0.0/24', 'ietf', 'RFC 6890 section 2.1'],
  ['192.0.0.192/32', 'metadata', 'Oracle Cloud Classic: instance metadata'],
  ['192.0.2.0/24', 'documentation', 'RFC 5737'],
  ['192.31.196.0/24', 'anycast', 'RFC 7535: AS112'],
  ['192.52.193.0/24', 'anycast', 'RFC 7450: AMT relays'],
  ['192.88.99.0/24', 'anycast', 'RFC 7526: 6to4 relays, deprecated'],
  ['192.168.0.0/16', 'private', 'RFC 1918'],
  ['192.175.48.0/24', 'anycast', 'RFC 7534: AS112'],
  ['198.18.0.0/15', 'benchmark', 'RFC 2544'],
  ['198.51.100.0/24', 'documentation', 'RFC 5737'],
  ['203.0.113.0/24', 'documentation', 'RFC 5737'],
  ['224.0.0.0/4', 'multicast', 'RFC 5771'],
  ['240.0.0.0/4', 'reserved', 'RFC 1112 section 4'],
  ['255.255.255.255/32', 'broadcast', 'RFC 8190, RFC 919 section 7'],

  // Outside 2000::/3 everything is refused anyway; these rows only give it its name.
  ['::/96', 'embedded', 'RFC 4291 section 2.5.5.1: IPv4-compatible, deprecated'],
  ['::/128', 'unspecified', 'RFC 4291 section 2.5.2'],
  ['::1/128', 'loopback', 'RFC 4291 section 2.5.3'],
  ['::ffff:0:0/96', 'embedded', 'RFC 4291 section 2.5.5.2: IPv4-mapped'],
  ['::ffff:0:0:0/96', 'embedded', 'RFC 2765 section 2.1: IPv4-translated (SIIT)'],
  ['64:ff9b::/96', 'embedded', 'RFC 6052: NAT64, well-known prefix'],
  ['64:ff9b:1::/48', 'embedded', 'RFC 8215: NAT64, local use'],
  ['100::/64', 'discard', 'RFC 6666'],
  ['100:0:0:1::/64', 'discard', 'RFC 9780: dummy prefix'],
  ['5f00::/16', 'segment_routing', 'RFC 9602: SRv6 SIDs'],
  ['fc00::/7', 'unique_local', 'RFC 4193'],
  ['fd00:ec2::23/128', 'metadata', 'AWS: pod identity credentials'],
  ['fd00:ec2::254/128', 'metadata', 'AWS: instance metadata'],
  ['fd20:ce::254/128', 'metadata', 'Google Cloud: instance metadata'],
  ['fe80::/10', 'link_local', 'RFC 4291 section 2.5.6'],
  ['fec0::/10', 'site_local', 'RFC 3879, deprecated'],
  ['ff00::/8', 'multicast', 'RFC 4291 section 2.7'],

  // Inside 2000::/3.
  ['2001::/23', 'ietf', 'RFC 2928'],
  ['2001::/32', 'embedded', 'RFC 4380: Teredo'],
  ['2001:2::/48', 'benchmark', 'RFC 5180'],
  ['2001:10::/28', 'ietf', 'RFC 4843: ORCHID, deprecated'],
  ['2001:20::/28', 'ietf', 'RFC 7343: ORCHIDv2'],
  ['2001:30::/28', 'ietf', 'RFC 9374: drone remote ids'],
  ['2001:db8::/32', 'documentation', 'RFC 3849'],
  ['2002::/16', 'embedded', 'RFC 3056: 6to4'],
  ['2620:4f:8000::/48', 'anycast', 'RFC 7534: AS112'],
  ['3fff::/20', 'documentation', 'RFC 9637'],
] as const satisfies readonly (readonly [block: string, class_: string, source: string])[];

/** The only IPv6 block that IANA hands out as global unicast (registry ipv6-address-space, RFC 4291). */
export const GLOBAL_UNICAST = '2000::/3';
