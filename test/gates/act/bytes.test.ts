/** The two filters of an answer's bytes: whatever the cuts between chunks, the same bytes come out. */
import { describe, expect, it } from 'vitest';
import { EventGuard } from '../../../gates/act/event-guard.ts';
import { SecretMask, SecretSearch } from '../../../gates/act/mask.ts';

interface Filter {
  write(chunk: Buffer): Buffer | null;
  end(): Buffer;
}

/** What comes out when `text` goes in, in chunks of each size from one byte on. */
function everyCut(make: () => Filter, text: string): Set<string> {
  const bytes = Buffer.from(text);
  const results = new Set<string>();
  for (let size = 1; size <= bytes.length; size += 1) {
    const filter = make();
    const out: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += size)
      out.push(filter.write(bytes.subarray(at, at + size)) ?? Buffer.from('CUT'));
    out.push(filter.end());
    results.add(Buffer.concat(out).toString());
  }
  return results;
}

function masking(secrets: readonly Buffer[]): Filter {
  const mask = new SecretMask(secrets);
  return { write: (chunk) => mask.write(chunk), end: () => mask.end(Buffer.alloc(0)) };
}

describe('the mask', () => {
  const secrets = [Buffer.from('ababac-secret'), Buffer.from('other-key-1')];
  const rows = [
    ['nothing to mask 漢字 abab', 'nothing to mask 漢字 abab'],
    ['xababac-secrety', `x${'*'.repeat(13)}y`],
    ['abababac-secret', `ab${'*'.repeat(13)}`],
    ['ababac-secreother-key-1', `ababac-secre${'*'.repeat(11)}`],
    ['other-key-1other-key-1', '*'.repeat(22)],
    ['ends in ababac-secre', 'ends in ababac-secre'],
  ] as const;
  for (const [text, masked] of rows) {
    it(`gives ${masked}`, () => expect(everyCut(() => masking(secrets), text)).toEqual(new Set([masked])));
  }
  it('holds back by length and line ends alone, whatever stands there', () => {
    const passed = (text: string): number => new SecretMask(secrets).write(Buffer.from(text)).length;
    const longest = 13;
    for (const [guess, other] of [
      ['data: ababac-secre', 'data: xxxxxxxxxxxx'],
      ['data: a', 'data: z'],
      ['data: x\nother-key-', 'data: x\nyyyyyyyyyy'],
    ] as const) {
      expect(passed(guess)).toBe(passed(other));
    }
    expect(passed('x'.repeat(100))).toBe(100 - (longest - 1));
    expect(passed('data: {"a":1}\n\n')).toBe(15);
    expect(passed('a line\r')).toBe(7);
    expect(passed('a line\nabab')).toBe(7);
  });
  it('masks what is still to come of a secret whose beginning went on in a pause', () => {
    const mask = new SecretMask(secrets);
    const out = [mask.write(Buffer.from('said ababac-')), mask.letGo(), mask.write(Buffer.from('sec'))];
    out.push(mask.letGo(), mask.write(Buffer.from('ret and ababac-secret\n')), mask.letGo());
    expect(Buffer.concat(out).toString()).toBe(`said ababac-sec*** and ${'*'.repeat(13)}\n`);
  });
  it('finds the same in a copy, and says how much of it is settled', () => {
    for (const size of [1, 3, 5, 100]) {
      const search = new SecretSearch(secrets);
      const text = Buffer.from('a line\nxx ababac-secret yy');
      for (let at = 0; at < text.length; at += size) search.scan(text.subarray(at, at + size));
      expect([search.found, search.at, search.settledTo]).toEqual([true, 26, 14]);
    }
    const search = new SecretSearch(secrets);
    search.scan(Buffer.from('ababac-secre\nt'));
    expect([search.found, search.settledTo]).toEqual([false, 13]);
  });
  it('passes the very chunk where there is nothing to hide', () => {
    const chunk = Buffer.from('data: x\n\n');
    expect(new SecretMask(secrets).write(chunk)).toBe(chunk);
  });
});

describe('the guard of events', () => {
  const rows = [
    [
      'data: {"id:":1}\n\nevent: retry:x\ndata: identity\n\n',
      'data: {"id:":1}\n\nevent: retry:x\ndata: identity\n\n',
    ],
    ['id: 9\ndata: a\n\n', 'data: a\n\n'],
    ['data: a\nid:9\nretry: 1\n\nretry:2\r\nrest', 'data: a\n\nrest'],
    ['data: a\r\nid: 9\r\ndata: b\r\n\r\n', 'data: a\r\ndata: b\r\n\r\n'],
    ['data: a\rid: 9\rretry: 1\r\n\nid: 2\r\rrest', 'data: a\r\n\rrest'],
    ['idea\rretrying\ri\r\r', 'idea\rretrying\ri\r\r'],
    ['idea\nretrying\ni\nr\n\n', 'idea\nretrying\ni\nr\n\n'],
    ['data: a\n\nretr', 'data: a\n\nretr'],
    ['id\ndata: a\n\nretry\r\n\r\nid\r\n\nid', 'data: a\n\n\r\n\n'],
    ['id: 1\r\nid: 2\r\nretry:3\r\nid\r\ndata: a\r\n\r\n', 'data: a\r\n\r\n'],
    [
      'id : 1\nID: 2\n id: 3\nids: 4\nretry-after: 5\n\n',
      'id : 1\nID: 2\n id: 3\nids: 4\nretry-after: 5\n\n',
    ],
    ['\ufeffid: 1\ndata: a\n\n\ufeffid: 2\n', '\ufeffdata: a\n\n\ufeffid: 2\n'],
    ['\ufeffdata: a\n\n', '\ufeffdata: a\n\n'],
    ['\ufeff\ufeffid: 1\nid\n\n', '\ufeff\ufeffid: 1\n\n'],
    ['idé: 1\nretry漢\n', 'idé: 1\nretry漢\n'],
    ['\nid:1\n\nretry:1\n', '\n\n'],
  ] as const;
  for (const [text, passed] of rows) {
    it(`gives ${JSON.stringify(passed)}`, () =>
      expect(everyCut(() => new EventGuard(), text)).toEqual(new Set([passed])));
  }
  it('gives up on a line without an end', () => {
    const guard = new EventGuard();
    const chunk = Buffer.alloc(1024 * 1024, 'x');
    const passed = Array.from({ length: 10 }, () => guard.write(chunk));
    expect(passed[0]).toEqual(chunk);
    expect(passed.at(-1)).toBeNull();
  });
  it('gives up on one that comes with its end in one write, and not on many that are short', () => {
    const long = Buffer.alloc(8 * 1024 * 1024 + 2, 'x');
    const line = Buffer.from('data: short\n\n');
    expect(new EventGuard().write(Buffer.concat([line, long, line]))).toBeNull();
    const guard = new EventGuard();
    expect(guard.write(Buffer.concat([line, long.subarray(100)]))).not.toBeNull();
    expect(guard.write(Buffer.concat([long.subarray(-200), line]))).toBeNull();
    const many = Buffer.concat(
      Array.from({ length: 900 }, () => Buffer.concat([long.subarray(0, 10_000), line])),
    );
    expect(new EventGuard().write(many)?.length).toBe(many.length);
  });
});
