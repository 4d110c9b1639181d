import { describe, expect, it } from 'vitest';
import { formatParentProxy, parseParentProxy } from '../../../core-lite/network/parent-proxy.ts';

/** [text, what is shown of it, user, password]. */
const GOOD: readonly (readonly [
  text: string,
  shown: string,
  user: string | null,
  password: string | null,
])[] = [
  ['http://proxy.example:3128', 'http://proxy.example:3128', null, null],
  ['HTTP://Proxy.EXAMPLE:3128/', 'http://proxy.example:3128', null, null],
  ['https://proxy.example:443', 'https://proxy.example:443', null, null],
  ['socks5://10.0.0.1:1080', 'socks5://10.0.0.1:1080', null, null],
  ['socks5h://[FD00::1]:1080', 'socks5://[fd00::1]:1080', null, null],
  ['http://localhost:1', 'http://localhost:1', null, null],
  ['http://u:p%40%3a%2F@p:65535', 'http://p:65535', 'u', 'p@:/'],
  ['http://u@p:1', 'http://p:1', 'u', ''],
  ['http://:token@p:1', 'http://p:1', '', 'token'],
  ['http://u:a:b@p:1', 'http://p:1', 'u', 'a:b'],
  ['socks5://us%3Aer:%C3%BC@p:1', 'socks5://p:1', 'us:er', 'ü'],
  [`socks5://u:${'x'.repeat(255)}@p:1`, 'socks5://p:1', 'u', 'x'.repeat(255)],
];

const BAD: readonly string[] = [
  'proxy.example:3128',
  'ftp://p:1',
  'socks4://p:1',
  'socks://p:1',
  'constructor://p:1',
  'http://p',
  'http://p:0',
  'http://p:65536',
  'http://p:080',
  'http://p:80/path',
  'http://p:80?x',
  'http://p:80#x',
  'http://p.:80',
  'http://p_q:80',
  'http://127.1:80',
  'http://fd00::1:80',
  'http://[fd00::1%25lo]:80',
  'http://canary@x@p:80',
  'http://u:canary%zz@p:80',
  'http://u:canary%0d%0a@p:80',
  'http://u:canary%00@p:80',
  'http://u:canary%ff@p:80',
  'http://us%3Aer:canary@p:80',
  'http://u:ca nary@p:80',
  'socks5://:canary@p:80',
  'socks5://canary@p:80',
  `socks5://u:canary${'x'.repeat(250)}@p:1`,
  ' http://p:80',
  'http://p:80\n',
];

describe('a parent proxy', () => {
  it.each(GOOD)('%s', (text, shown, user, password) => {
    const proxy = parseParentProxy(text);
    if (typeof proxy === 'string') throw new Error(proxy);
    expect(formatParentProxy(proxy)).toBe(shown);
    expect(proxy.login?.user.reveal() ?? null).toBe(user);
    expect(proxy.login?.password.reveal() ?? null).toBe(password);
    expect(JSON.stringify(proxy)).not.toContain(password || 'nothing');
  });

  it.each(BAD)('%j is none, and is not repeated', (text) => {
    const fault = parseParentProxy(text);
    expect(fault).toMatch(/^(is not|has) /);
    expect(fault).not.toContain('canary');
  });
});
