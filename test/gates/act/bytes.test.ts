/** The two filters of an answer's bytes: whatever the cuts between chunks, the same bytes come out. */
import { describe, expect, it } from 'vitest';
import { EventGuard } from '../../../gates/act/event-guard.ts';
import { SecretMask } from '../../../gates/act/mask.ts';

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
    it(`gives ${masked}`, () =>
      expect(everyCut(() => new SecretMask(secrets), text)).toEqual(new Set([masked])));
  }
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
  ] as const;
  for (const [text, passed] of rows) {
    it(`gives ${JSON.stringify(passed)}`, () =>
      expect(everyCut(() => new EventGuard(), text)).toEqual(new Set([passed])));
  }
  it('gives up on a line without an end', () => {
    const guard = new EventGuard();
    const chunk = Buffer.alloc(1024 * 1024, 'x');
    const passed = Array.from({ length: 10 }, () => guard.write(chunk));
    expect(passed[0]).toBe(chunk);
    expect(passed.at(-1)).toBeNull();
  });
});
