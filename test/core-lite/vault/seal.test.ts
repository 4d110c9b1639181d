import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { Secret } from '../../../core-lite/secret.ts';
import { parseKeyBytes, SealKey, sealedKeyId } from '../../../core-lite/vault/seal.ts';

const key = SealKey.make();
const PLACE = 'credentials crd_1 sealed 3';
const sealed = key.seal(new Secret('a secret value'), PLACE);

describe('a seal', () => {
  it.each(['', 'x', 'a secret value', 'ünïcode ☂ \u{1f512}', 'line\nend\0nul', 'x'.repeat(100_000)])(
    'opens where it was put %#',
    (text) => expect(key.open(key.seal(new Secret(text), PLACE), PLACE).reveal()).toBe(text),
  );

  it('names its key and is never the same twice', () => {
    expect(sealedKeyId(sealed)).toBe(key.id);
    expect(key.seal(new Secret('x'), PLACE).equals(key.seal(new Secret('x'), PLACE))).toBe(false);
  });

  it.each([
    'credentials crd_2 sealed 3',
    'credentials crd_1 sealed 2',
    'credentials crd_1 sealed 4',
    'signing_keys crd_1 sealed 3',
    `${PLACE} `,
    '',
  ])('does not open in another place: %j', (place) => broken(() => key.open(sealed, place)));

  it('does not open with another key, not even one of the same name', () => {
    broken(() => SealKey.make().open(sealed, PLACE));
    broken(() => new SealKey(key.id, Buffer.alloc(32, 1)).open(sealed, PLACE));
  });

  it('does not open when any bit of it was changed', () => {
    for (let at = 0; at < sealed.length; at++) {
      for (const bit of [0x01, 0x80]) {
        const changed = Buffer.from(sealed);
        changed[at] = (changed[at] ?? 0) ^ bit;
        broken(() => key.open(changed, PLACE));
      }
    }
  });

  it('does not open when it was cut or made longer', () => {
    for (let length = 0; length < sealed.length; length++)
      broken(() => key.open(sealed.subarray(0, length), PLACE));
    broken(() => key.open(Buffer.concat([sealed, Buffer.alloc(1)]), PLACE));
  });

  it('that does not open says nothing of the value', () => {
    try {
      key.open(Buffer.concat([sealed, Buffer.alloc(1)]), PLACE);
    } catch (error) {
      expect(inspect(error)).not.toContain('a secret value');
    }
  });
});

describe('a key', () => {
  it('is not shown', () => {
    const raw = key.export().reveal();
    const shown = `${inspect(key, { showHidden: true, depth: 9 })} ${JSON.stringify(key)} ${String(key)}`;
    expect(shown).not.toContain(raw);
    expect(shown).not.toContain(Buffer.from(raw, 'base64').toString('hex').slice(0, 8));
  });

  it('is made from its export', () => {
    const again = new SealKey(key.id, parseKeyBytes(key.export().reveal()) ?? Buffer.alloc(0));
    expect(again.open(sealed, PLACE).reveal()).toBe('a secret value');
  });

  it('does not change with the bytes that it was made from', () => {
    const bytes = Buffer.alloc(32, 5);
    const made = new SealKey('00000000', bytes);
    const before = made.seal(new Secret('x'), PLACE);
    bytes.fill(6);
    expect(made.open(before, PLACE).reveal()).toBe('x');
  });

  it('derives another for each purpose', () => {
    expect(key.derive('a')).toHaveLength(32);
    expect(key.derive('a').equals(key.derive('a'))).toBe(true);
    expect(key.derive('a').equals(key.derive('b'))).toBe(false);
    expect(key.derive('a').toString('base64')).not.toBe(key.export().reveal());
  });

  it.each([['0000000'], ['0000000g'], ['AAAAAAAA'], ['000000000']])('id %j is refused', (id) => {
    expect(() => new SealKey(id, Buffer.alloc(32))).toThrow(TypeError);
  });

  it.each([0, 16, 31, 33, 64])('of %i bytes is refused', (length) => {
    expect(() => new SealKey('00000000', Buffer.alloc(length))).toThrow(TypeError);
  });
});

describe('key bytes', () => {
  const good = Buffer.alloc(32, 0xfb).toString('base64');
  it.each([good, `${good}\n`, `  ${good} \r\n`])('%j', (text) =>
    expect(parseKeyBytes(text)).toEqual(Buffer.alloc(32, 0xfb)),
  );

  it.each([
    '',
    'short',
    good.slice(0, -1),
    good.replace('=', ''),
    good.replaceAll('+', '-').replaceAll('/', '_'),
    `${good}=`,
    `${good} ${good}`,
    Buffer.alloc(33).toString('base64'),
    Buffer.alloc(31).toString('base64'),
    Buffer.alloc(32).toString('hex'),
    // Spare bits that are not zero: another spelling of the same bytes.
    `${Buffer.alloc(32).toString('base64').slice(0, -2)}B=`,
  ])('%j is none', (text) => expect(parseKeyBytes(text)).toBeNull());
});

function broken(open: () => unknown): void {
  expect(open).toThrow(expect.objectContaining({ code: 'seal_broken' }));
}
