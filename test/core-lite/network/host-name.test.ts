/** Names that are refused by name where somebody else looks them up. */
import { expect, test } from 'vitest';
import { isInsideName } from '../../../core-lite/network/host-name.ts';

test.each([
  ...[
    'localhost',
    'localhost6',
    'ip6-localhost',
    'ip6-loopback',
    'ip6-allnodes',
    'metadata',
    'instance-data',
    'db',
  ],
  ...['x.localhost', 'localhost.localdomain', 'localhost6.localdomain6', 'metadata.google.internal'],
  ...['instance-data.ec2.internal', 'kubernetes.default.svc', 'host.docker.internal'],
])('%s leads inside', (host) => expect(isInsideName(host)).toBe(true));

test.each([
  'example.com',
  'localhost.example.com',
  'notlocalhost.test',
  'a.internal',
  '192.0.2.1',
  '2001:db8::1',
])('%s is for its addresses to say', (host) => expect(isInsideName(host)).toBe(false));
