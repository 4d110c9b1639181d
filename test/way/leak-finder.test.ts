/** The finder of leaks is only worth something if it finds: one planted leak of each dress, and none where none is. */
import { describe, expect, it } from 'vitest';
import { type Canary, LeakFinder } from './leak-finder.ts';

const TEXT = 'cnry-"Zk3/Vq8\\9wTe5YbU2\'+&= ~ rNx7Lp0sDfGh4JmC-=%';
const BYTES = Buffer.from('f00dfacecafe0123456789abcdefdeadbeef00112233445566778899aabbccdd', 'hex');
const CANARIES: readonly Canary[] = [
  { name: 'text', value: TEXT },
  { name: 'bytes', value: BYTES },
];
const BOTH = { text: Buffer.from(TEXT), bytes: BYTES };
const around = (bytes: Buffer, before: string): Buffer =>
  Buffer.concat([Buffer.from(before), bytes, Buffer.from('!?')]);

const LEAKS: readonly (readonly [string, keyof typeof BOTH, string])[] = [
  ['raw', 'text', TEXT],
  ['in JSON', 'text', JSON.stringify({ message: `bad: ${TEXT}` })],
  ['in JSON in JSON', 'text', JSON.stringify({ message: JSON.stringify({ TEXT }) })],
  ['in a URL', 'text', `/v1?value=${encodeURIComponent(TEXT)}`],
  ['in a form', 'text', String(new URLSearchParams({ value: TEXT }))],
  ['cut at its end', 'text', TEXT.slice(0, -3) + '…'],
  ['cut at its start', 'text', `…${TEXT.slice(5)}`],
  ['as raw bytes', 'bytes', BYTES.toString('latin1')],
  ...(['text', 'bytes'] as const).flatMap((name) => {
    const bytes = BOTH[name];
    return [
      ['in hex', name, `\\x${bytes.toString('hex')}`],
      ['in hex, upper case', name, bytes.toString('hex').toUpperCase()],
      ['in hex of both cases', name, bytes.toString('hex').replace(/[a-f]/, (digit) => digit.toUpperCase())],
      ['percent-encoded', name, bytes.toString('hex').replace(/../g, '%$&')],
      ['broken over lines', name, bytes.toString('base64').replace(/.{16}/g, '$&\n')],
      [
        'broken over written lines',
        name,
        JSON.stringify(bytes.toString('base64').replace(/.{16}/g, '$&\r\n')),
      ],
      ...['', 'x', 'xy', 'xyz'].flatMap((before) => [
        [`in base64 behind ${before.length} bytes`, name, around(bytes, before).toString('base64')] as const,
        [
          `in base64url behind ${before.length} bytes`,
          name,
          around(bytes, before).toString('base64url'),
        ] as const,
      ]),
    ] as const;
  }),
];

describe('the finder of leaks', () => {
  const finder = new LeakFinder(CANARIES);

  it.each(LEAKS)('finds a leak %s of the %s', (_dress, name, text) => {
    expect(finder.search(`{"level":"info"} ${text} {"level":"info"}`).map(({ canary }) => canary)).toContain(
      name,
    );
  });

  it('finds nothing where nothing is, and what is allowed', () => {
    expect(finder.search('cnry-"Zk3 f00dface rNx7 [secret]')).toEqual([]);
    expect(finder.search(TEXT, ['text'])).toEqual([]);
  });

  it('refuses a canary that ordinary text could hold', () => {
    expect(() => new LeakFinder([{ name: 'weak', value: 'short' }])).toThrow(/too short/);
  });
});
