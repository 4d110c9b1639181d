/** `connections`: the record, newest last so that it reads like a log. */
import { type Api, openApi, query } from '../api.ts';
import { defineCommand, type Io, type Values, wrong } from '../command.ts';
import { EXIT } from '../command-error.ts';
import { type ConnectionAnswer, formatConnection } from '../connection-row.ts';
import { followConnections } from '../follow.ts';
import { PAGE_ROWS, readNewest } from '../read-newest.ts';
import { parseSince } from '../since.ts';
import { formatMoment, formatTable } from '../table.ts';

interface RefusalCountAnswer {
  readonly minute: string;
  readonly source: string;
  readonly environmentId: string | null;
  readonly reason: string;
  readonly count: number;
}

const OPTIONS = {
  env: { type: 'string', value: 'NAME', help: 'of this environment, by name or id' },
  host: { type: 'string', value: 'HOST', help: 'to this host, or *.suffix' },
  turn: { type: 'string', value: 'TURN', help: 'that this turn opened' },
  verdict: { type: 'string', choices: ['allowed', 'denied', 'reported'], help: 'with this verdict' },
  since: { type: 'string', value: 'TIME', help: 'from then on: 30s, 5m, 2h, 7d, or 2026-01-31T12:00:00Z' },
  limit: { type: 'string', value: 'N', help: 'the newest N; default 100' },
  follow: { type: 'boolean', help: 'goes on with what is new, until Ctrl-C' },
  refusals: {
    type: 'boolean',
    help: 'the refusals that are counted and have no row: refused tokens, floods; of the last hour without --since',
  },
  json: { type: 'boolean', help: 'prints JSON: one array, with --follow one object a line' },
} as const;

export const connections = defineCommand({
  name: 'connections',
  summary: 'shows the record of connections, newest last',
  args: [],
  options: OPTIONS,
  notes: [
    'With --follow a connection has a line when it opens and, if it ends within a minute, one when it ends.',
  ],
  examples: [
    'npx sallyport connections --env demo --verdict denied --since 1h',
    'npx sallyport connections --follow',
  ],
  run: async ({ options }, io) => {
    const limit = readLimit(options.limit);
    const since = readSince(options.since);
    if (options.refusals) refuseFilters(options, limit);
    const api = await openApi(io);
    if (options.refusals) {
      await showRefusals(api, since, limit, options.json === true, io);
      return EXIT.done;
    }
    const { env: environment, host, turn, verdict } = options;
    const filter = { environment, host, turn, verdict, since };
    const found = await readNewest<ConnectionAnswer>(api, '/v1/connections', filter, limit);
    const follow = { api, filter, first: found, json: options.json === true };
    if (options.follow) await followConnections(follow, io);
    else if (options.json) io.out(JSON.stringify(found, null, 2));
    else for (const line of formatTable([HEAD, ...found.map(formatConnection)])) io.out(line);
    return EXIT.done;
  },
});

async function showRefusals(
  api: Api,
  since: string | undefined,
  limit: number,
  json: boolean,
  io: Io,
): Promise<void> {
  const at = `/v1/refusal-counts${query({ since, limit })}`;
  const found = (await api.call<RefusalCountAnswer[]>('GET', at)).toReversed();
  const rows = found.map(({ minute, source, environmentId, reason, count }) => [
    formatMoment(minute),
    source,
    environmentId ?? '-',
    reason,
    String(count),
  ]);
  if (json) io.out(JSON.stringify(found, null, 2));
  else for (const line of formatTable([REFUSALS_HEAD, ...rows])) io.out(line);
}

function refuseFilters(options: Values<typeof OPTIONS>, limit: number): void {
  const given = (['env', 'host', 'turn', 'verdict', 'follow'] as const).find(
    (name) => options[name] !== undefined,
  );
  if (given) throw wrong(connections, `--refusals are counts: --${given} does not go with it`);
  if (limit > PAGE_ROWS) throw wrong(connections, `--refusals shows ${PAGE_ROWS} at most`);
}

function readLimit(text = '100'): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw wrong(connections, '--limit is not a number from 1 to 999999');
  return Number(text);
}

function readSince(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const since = parseSince(text, new Date());
  if (!since) throw wrong(connections, '--since is not like 30s, 5m, 2h, 7d or 2026-01-31T12:00:00Z');
  return since.toISOString();
}

const HEAD = [
  'TIME',
  'ENVIRONMENT',
  'TARGET',
  'VERDICT',
  'REASON',
  'ADDRESS',
  'UP',
  'DOWN',
  'DURATION',
  'END',
];
const REFUSALS_HEAD = ['MINUTE', 'SOURCE', 'ENVIRONMENT', 'REASON', 'COUNT'];
