/** `exchanges`: the requests that egress read, newest last, and which secrets were put on them. */
import { openApi, query } from '../api.ts';
import { defineCommand, wrong } from '../command.ts';
import { EXIT } from '../command-error.ts';
import { parseSince } from '../since.ts';
import { formatDuration, formatMoment, formatTable } from '../table.ts';

interface ExchangeAnswer {
  readonly at: string;
  readonly environment: string;
  readonly host: string;
  readonly port: number;
  readonly method: string;
  readonly path: string;
  readonly status: number | null;
  readonly reason: string;
  /** Says more than the reason does. */
  readonly code: string | null;
  readonly credentials: readonly string[];
  readonly bytesUp: number;
  readonly bytesDown: number;
  readonly masked: number;
  readonly durationMs: number;
}

export const exchanges = defineCommand({
  name: 'exchanges',
  summary: 'shows the requests inside interceptions and over plain HTTP, newest last',
  args: [],
  options: {
    connection: { type: 'string', value: 'ID', help: 'of this connection' },
    env: { type: 'string', value: 'NAME', help: 'of this environment, by name or id' },
    turn: { type: 'string', value: 'TURN', help: 'of this turn' },
    since: { type: 'string', value: 'TIME', help: 'from then on: 30s, 5m, 2h, 7d, or 2026-01-31T12:00:00Z' },
    limit: { type: 'string', value: 'N', help: 'the newest N, at most 1000; default 100' },
    json: { type: 'boolean', help: 'prints JSON' },
  },
  notes: [
    'SECRETS are the credentials that were put on, as vault/name@version; their values are nowhere.',
    'MASKED counts how often one of them was masked in the answer; secret_echoed: it could not be, and the answer was refused or cut off.',
  ],
  examples: ['npx sallyport exchanges --env demo --since 1h', 'npx sallyport exchanges --json'],
  run: async ({ options }, io) => {
    const { connection, env: environment, turn, limit = '100' } = options;
    if (!/^[1-9]\d{0,3}$/.test(limit)) throw wrong(exchanges, '--limit is not a number from 1 to 1000');
    const since = readSince(options.since);
    const api = await openApi(io);
    const at = `/v1/exchanges${query({ connection, environment, turn, since, limit })}`;
    const found = (await api.call<ExchangeAnswer[]>('GET', at)).toReversed();
    if (options.json) io.out(JSON.stringify(found, null, 2));
    else for (const line of formatTable([HEAD, ...found.map(formatExchange)])) io.out(line);
    return EXIT.done;
  },
});

function formatExchange(exchange: ExchangeAnswer): string[] {
  const { at, environment, host, port, method, path, status, reason, code, credentials } = exchange;
  return [
    formatMoment(at),
    environment,
    `${host}:${port}`,
    `${method} ${path}`,
    status === null ? '-' : String(status),
    [reason, code].filter(Boolean).join(' '),
    credentials.join(' ') || '-',
    String(exchange.bytesUp),
    String(exchange.bytesDown),
    String(exchange.masked),
    formatDuration(exchange.durationMs),
  ];
}

function readSince(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const moment = parseSince(text, new Date());
  if (!moment) throw wrong(exchanges, '--since is not like 30s, 5m, 2h, 7d or 2026-01-31T12:00:00Z');
  return moment.toISOString();
}

const HEAD = [
  'TIME',
  'ENVIRONMENT',
  'TARGET',
  'REQUEST',
  'STATUS',
  'REASON',
  'SECRETS',
  'UP',
  'DOWN',
  'MASKED',
  'DURATION',
];
