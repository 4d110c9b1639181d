/**
 * The table of docs/clients.md, from what the clients kit wrote: run by hand after `npm run kit -- clients`, with the
 * two results.json that it names. Several of one way are read in their order: a client's last row counts.
 *   node test/kit/clients-table.ts --direct FILE --relay FILE
 */
import { readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';

/** A client as the kit wrote it down. */
export interface KitRow {
  readonly id: string;
  readonly version?: string;
  /** `ok`, `FAIL`, `cannot`, `absent`. */
  readonly state: string;
  readonly cases: Readonly<Record<string, { readonly verdict: string } | undefined>>;
  /** What the origin saw of an interception. */
  readonly http?: string;
}

/** Those that were there, one line each. @param relay the same clients through the relay of `sallyport run` */
export function renderTable(direct: readonly KitRow[], relay: readonly KitRow[]): string {
  const relayed = new Map(withKeys(relay));
  const present = withKeys(direct).filter(([, { state }]) => state !== 'absent');
  const lines = present.map(([key, row]) => renderRow(row, relayed.get(key)));
  const head = ['client', 'version', ...CASES.map(({ title }) => title), 'HTTP', 'all of it by relay'];
  return [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** The document with this table in place of the one that it has. */
export function replaceTable(document: string, table: string): string {
  const [before, rest] = document.split(BEGIN);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined)
    throw new Error('docs/clients.md has no place for a table');
  return `${before}${BEGIN}\n${table}\n${END}${after}`;
}

function renderRow(row: KitRow, relayed: KitRow | undefined): string[] {
  const cells = CASES.map(({ names }) => renderCase(row, names));
  return [row.id, row.version ?? '', ...cells, row.http ?? '', relayed?.state ?? ''].map((cell) =>
    cell.replaceAll('|', '/'),
  );
}

/** Of several cases in one column, the one that went worst. */
function renderCase({ cases }: KitRow, names: readonly string[]): string {
  const verdicts = names.flatMap((name) => cases[name]?.verdict ?? []);
  return verdicts.find((verdict) => verdict !== 'ok') ?? verdicts[0] ?? '–';
}

/** A client may be there in two versions, under one name: these are told apart by their order. */
function withKeys(rows: readonly KitRow[]): [string, KitRow][] {
  const seen = new Map<string, number>();
  return rows.map((row) => {
    const place = (seen.get(row.id) ?? 0) + 1;
    seen.set(row.id, place);
    return [`${row.id} ${place}`, row];
  });
}

async function main(words: readonly string[]): Promise<void> {
  const files = { type: 'string', multiple: true, default: [] as string[] } as const;
  const { values } = parseArgs({ args: [...words], options: { direct: files, relay: files } });
  const table = renderTable(await readRows(values.direct), await readRows(values.relay));
  await writeFile(DOCUMENT, replaceTable(await readFile(DOCUMENT, 'utf8'), table));
}

async function readRows(files: readonly string[]): Promise<KitRow[]> {
  if (files.length === 0) throw new Error('name --direct FILE and --relay FILE');
  const rows = new Map<string, KitRow>();
  for (const file of files) {
    const results = JSON.parse(await readFile(file, 'utf8')) as { readonly rows: readonly KitRow[] };
    for (const [key, row] of withKeys(results.rows)) rows.set(key, row);
  }
  return [...rows.values()];
}

const CASES: readonly { readonly title: string; readonly names: readonly string[] }[] = [
  { title: 'tunnel', names: ['tunnel'] },
  { title: 'interception', names: ['intercept'] },
  { title: 'secret', names: ['header'] },
  { title: 'upload', names: ['post'] },
  { title: 'download', names: ['blob', 'blobT'] },
  { title: 'wrong CA', names: ['wrongca'] },
  { title: 'refused', names: ['refused'] },
  { title: 'bad token', names: ['badtoken'] },
  { title: 'loopback', names: ['noproxy'] },
];
const BEGIN = '<!-- table: begin -->';
const END = '<!-- table: end -->';
export const DOCUMENT = new URL('../../docs/clients.md', import.meta.url);

if (import.meta.main) await main(process.argv.slice(2));
