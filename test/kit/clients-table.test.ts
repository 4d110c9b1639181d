/** The table of docs/clients.md: how it is made of what the kit wrote, and that it says of each required client ok. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { DOCUMENT, type KitRow, renderTable, replaceTable } from './clients-table.ts';

const row = (id: string, more: Partial<KitRow> = {}): KitRow => ({ id, state: 'ok', cases: {}, ...more });
const cellsOf = (line = ''): string[] =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());

/** Whom every change has to serve, by the kit's names; Java's own ways are in test/way/run-java.test.ts. */
const REQUIRED = [
  ...['curl', 'wget', 'git', 'npm', 'pip (debian)', 'py urllib', 'py requests'],
  ...['node24 fetch', 'node24 undici-env', 'node24 axios', 'node24 openai', 'node24 anthropic'],
  ...['ws: node24 ws', 'ws: node24 WebSocket', 'grpc: grpc-js', 'java HttpClient+relay'],
];

describe('a row', () => {
  const cases = { tunnel: { verdict: 'ok' }, blob: { verdict: 'ok' }, blobT: { verdict: 'FAIL' } };

  it('has of several cases in one column the one that went worst', () => {
    const [head, , line] = renderTable([row('a', { cases, version: '1', http: 'h2' })], [row('a')]).split(
      '\n',
    );
    const named = Object.fromEntries(cellsOf(head).map((name, place) => [name, cellsOf(line)[place]]));
    expect(named).toMatchObject({ client: 'a', version: '1', tunnel: 'ok', download: 'FAIL', upload: '–' });
    expect(named).toMatchObject({ HTTP: 'h2', 'all of it by relay': 'ok' });
  });

  it('has the same version beside it where a client is there in two', () => {
    const twice = [row('a', { version: '1' }), row('a', { version: '2' })];
    const relay = [row('a', { version: 'misread' }), row('a', { state: 'FAIL' })];
    const lines = renderTable(twice, relay).split('\n').slice(2).map(cellsOf);
    expect(lines.map((cells) => [cells[1], cells.at(-1)])).toEqual([
      ['1', 'ok'],
      ['2', 'FAIL'],
    ]);
  });

  it('is left out where the client was not there', () => {
    expect(renderTable([row('a', { state: 'absent' })], []).split('\n')).toHaveLength(2);
  });
});

describe('the document', () => {
  const document = readFileSync(DOCUMENT, 'utf8');
  /** Other tables of the document name clients too. */
  const [, table = ''] = /<!-- table: begin -->(.*)<!-- table: end -->/s.exec(document) ?? [];

  it('has a place for the table, and keeps the rest', () => {
    const once = replaceTable(document, 'TABLE');
    expect(once).toMatch(/begin -->\nTABLE\n<!--/);
    expect(replaceTable(once, 'TABLE')).toBe(once);
    expect(() => replaceTable('nothing', 'TABLE')).toThrow('no place');
  });

  it('says of nobody that it failed', () => {
    const cells = table
      .split('\n')
      .filter((line) => line.startsWith('| '))
      .flatMap(cellsOf);
    expect(cells.filter((cell) => cell === 'FAIL')).toEqual([]);
  });

  it.each(REQUIRED)('has %s, which passes directly and by the relay', (name) => {
    const cells = table
      .split('\n')
      .map(cellsOf)
      .find(([id]) => id === name);
    expect(cells?.[2]).toBe('ok');
    expect(cells?.[3]).toBe('ok');
    expect(cells?.at(-1)).toBe('ok');
  });
});
