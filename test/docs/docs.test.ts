/**
 * The documents say what the code does: tables are written from it (`npm test -- -u test/docs` writes them anew), and
 * what a document points at exists.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../../cli/catalogue.ts';
import { readCommandLine } from '../../cli/command.ts';
import { CODES } from '../../core-lite/codes.ts';
import { describeConfig } from '../../core-lite/config.ts';
import { APPROVALS, ENDINGS, REFUSALS } from '../../core-lite/reasons.ts';
import { HTTP_OUTCOMES } from '../../gates/http-outcomes.ts';
import { TOOL_CODES } from '../../gates/mcp/keyed/tool-codes.ts';
import { MCP_DENIALS } from '../../gates/mcp/see/denials.ts';
import { UPSTREAM_FAILURES } from '../../gates/mcp/upstream/failures.ts';
import { ENDINGS as GATES_ENDINGS, REFUSALS as GATES_REFUSALS } from '../../gates/reasons.ts';
import manifest from '../../package.json' with { type: 'json' };
import { MODEL_REFUSALS } from '../../pod/model-refusals.ts';

const root = new URL('../../', import.meta.url);
const document = (name: string): string => readFileSync(new URL(name, root), 'utf8');
const path = (name: string): string => fileURLToPath(new URL(name, root));
const PAGES = [
  ...['SECURITY.md', 'ARCHITECTURE.md', 'README.md', 'CONTRIBUTING.md'],
  ...readdirSync(new URL('docs/', root)).map((name) => `docs/${name}`),
];

describe('tables written from the code', () => {
  it('reasons', async () => {
    await expect(renderReasons()).toMatchFileSnapshot(path('docs/reasons.md'));
  });

  it('settings', async () => {
    await expect(renderSettings()).toMatchFileSnapshot(path('docs/settings.md'));
  });
});

describe('what documents point at', () => {
  it.each(['SECURITY.md', 'ARCHITECTURE.md', 'README.md'])('%s names only files that exist', (name) => {
    const named = [
      ...document(name).matchAll(/`((?:certs|core-lite|egress|gates|pod|cli|test|docs)\/[\w./-]+)`/g),
    ];
    const missing = named
      .map((match) => match[1] as string)
      .filter((file) => !existsSync(new URL(file, root)));
    expect(missing).toEqual([]);
  });

  it.each(PAGES)('%s links only to what exists', (name) => {
    const linked = [...document(name).matchAll(/\]\(([^)#:]+)\)/g)].map((match) => match[1] as string);
    const place = new URL(name, root);
    expect(linked.filter((file) => !existsSync(new URL(file, place)))).toEqual([]);
  });

  it.each(PAGES.flatMap((name) => commandsOf(name).map((line) => [name, line] as const)))(
    '%s: sallyport %s',
    (_name, line) => {
      const words = wordsOf(line);
      const command = COMMANDS.find(({ name }) => `${words.join(' ')} `.startsWith(`${name} `));
      if (!command) throw new Error('there is no such command');
      const typed = words.slice(command.name.split(' ').length);
      expect(readCommandLine(command, typed)).not.toBe('help');
    },
  );

  it('each promise in SECURITY.md names its file and its test', () => {
    const rows = document('SECURITY.md')
      .split('\n')
      .filter((line) => /^\| \d/.test(line));
    expect(rows.length).toBeGreaterThanOrEqual(5);
    for (const row of rows) expect(row).toMatch(/`(core-lite|egress|gates|pod|certs|cli)\/.*\|.*`test\//);
  });

  it('ARCHITECTURE.md gives a reason for each runtime dependency and no other', () => {
    const table = document('ARCHITECTURE.md').split('## Runtime dependencies')[1] ?? '';
    const named = [...table.matchAll(/^\| (.+?) \|/gm)].flatMap((row) => [
      ...(row[1] ?? '').matchAll(/`([^`]+)`/g),
    ]);
    const wanted = [...Object.keys(manifest.dependencies), ...Object.keys(manifest.optionalDependencies)];
    expect(named.map((match) => match[1]).sort()).toEqual(wanted.sort());
  });
});

/** What stands behind `sallyport` in its blocks for a shell. */
function commandsOf(name: string): string[] {
  const blocks = [...document(name).matchAll(/^```sh\n(.*?)^```/gms)].map((match) => match[1] ?? '');
  const lines = blocks.join('').replaceAll(/\\\n\s*/g, '');
  return [...lines.matchAll(/^(?:npx )?sallyport (.+)$/gm)].map((match) => match[1] ?? '');
}

/** The words as a shell takes them, without its comment. */
function wordsOf(line: string): string[] {
  const words: readonly string[] = line.match(/'[^']*'|"[^"]*"|\S+/g) ?? [];
  const comment = words.indexOf('#');
  return words
    .slice(0, comment < 0 ? undefined : comment)
    .map((word) => word.replace(/^(['"])(.*)\1$/s, '$2'));
}

function renderReasons(): string {
  return [
    '# Reasons',
    '',
    'The same word stands in the answer (`Sallyport-Reason`), in the log line and in the record. Written from',
    '`core-lite/reasons.ts`, `core-lite/codes.ts`, `gates/reasons.ts`, `gates/http-outcomes.ts` and',
    '`pod/model-refusals.ts` by a test.',
    '',
    '## Refused by egress',
    '',
    ...renderRefusals(REFUSALS),
    '',
    '## Codes: which thing it was',
    '',
    'Stands beside a reason in the answer (`Sallyport-Code`), in the log and in the record; those of oauth credentials in',
    '`credential list` too. Beside `origin_certificate`, `origin_failed` and `connect_failed` stand OpenSSL’s and Node’s own',
    'codes as they are.',
    '',
    '| code | what happened | what to do |',
    '| --- | --- | --- |',
    ...Object.entries(CODES).map(
      ([code, { text, remedy }]) => `| \`${code.replace(/_$/, '_…')}\` | ${text} | ${remedy} |`,
    ),
    '',
    '## Let through by egress',
    '',
    '| reason | why |',
    '| --- | --- |',
    ...Object.entries(APPROVALS).map(([reason, why]) => `| \`${reason}\` | ${why} |`),
    '',
    '## How an open connection of egress ended',
    '',
    '| reason | what happened |',
    '| --- | --- |',
    ...Object.entries(ENDINGS).map(([reason, why]) => `| \`${reason}\` | ${why} |`),
    '',
    '## Refused by the gates',
    '',
    ...renderRefusals(GATES_REFUSALS),
    '',
    '## Refused by the relay on the way to the gates',
    '',
    'The relay of a run, before a call gets to the gates: it is in no record.',
    '',
    ...renderRefusals(MODEL_REFUSALS),
    '',
    '## How a model call ended',
    '',
    'The outcome in the ledger (`sallyport usage --calls`), in the log and in the metrics, of a call that was let through. Of a',
    'call that the gates refused it is their reason.',
    '',
    '| outcome | what happened |',
    '| --- | --- |',
    ...Object.entries(GATES_ENDINGS).map(([outcome, what]) => `| \`${outcome}\` | ${what} |`),
    '',
    '## How a call of an HTTP tool failed',
    '',
    '| code | what happened |',
    '| --- | --- |',
    ...Object.entries(HTTP_OUTCOMES).map(([code, what]) => `| \`${code}\` | ${what} |`),
    '',
    '## How a request to an MCP server failed',
    '',
    '| failure | what happened |',
    '| --- | --- |',
    ...Object.entries(UPSTREAM_FAILURES).map(([code, what]) => `| \`${code}\` | ${what} |`),
    '',
    '## Why a tool of an MCP server was not called',
    '',
    '| reason | what happened |',
    '| --- | --- |',
    ...Object.entries(MCP_DENIALS).map(([code, what]) => `| \`${code}\` | ${what} |`),
    '',
    '## How a call of an MCP server’s tool at /v1/tool-calls failed',
    '',
    '| code | what happened |',
    '| --- | --- |',
    ...Object.entries(TOOL_CODES).map(([code, what]) => `| \`${code}\` | ${what} |`),
    '',
  ].join('\n');
}

function renderRefusals(
  refusals: Readonly<
    Record<string, { readonly status: number; readonly text: string; readonly remedy: string }>
  >,
): string[] {
  return [
    '| reason | status | what happened | what to do |',
    '| --- | --- | --- | --- |',
    ...Object.entries(refusals).map(
      ([reason, { status, text, remedy }]) => `| \`${reason}\` | ${status} | ${text} | ${remedy} |`,
    ),
  ];
}

function renderSettings(): string {
  const rows = describeConfig({}).map((row) => {
    const fallback = row.default.includes('/.sallyport')
      ? '`.sallyport` in the clone'
      : row.default && `\`${row.default}\``;
    return `| \`${row.name}\` | ${row.type.replaceAll('|', ', ')} | ${fallback} | ${row.help} |`;
  });
  return [
    '# Settings',
    '',
    'Environment variables. `sallyport config` prints this table with what is set. A name that is not here is refused.',
    'Written from `core-lite/config.ts` by a test.',
    '',
    '| name | type | default | what it is |',
    '| --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}
