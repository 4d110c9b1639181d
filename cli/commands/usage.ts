/** `usage`: what model calls used and cost, in sums or call by call. */
import { type Api, openApi, query } from '../api.ts';
import { defineCommand, type Values, wrong } from '../command.ts';
import { EXIT } from '../command-error.ts';
import { readNewest } from '../read-newest.ts';
import { parseSince } from '../since.ts';
import { formatTable } from '../table.ts';
import {
  CALL_COLUMNS,
  type CallAnswer,
  formatCall,
  formatSum,
  SUM_COLUMNS,
  type SumAnswer,
} from '../usage-row.ts';

const OPTIONS = {
  by: {
    type: 'string',
    value: 'GROUP',
    choices: ['agent', 'session', 'turn', 'model', 'provider', 'client-agent', 'day'],
    help: 'one line for each agent, session, turn, model, provider, agent that the client named, or day; default agent',
  },
  calls: { type: 'boolean', help: 'one line for each call, newest last' },
  session: { type: 'string', value: 'SESSION', help: 'of this session' },
  turn: { type: 'string', value: 'TURN', help: 'of this turn' },
  agent: { type: 'string', value: 'NAME', help: 'of this agent' },
  model: { type: 'string', value: 'NAME', help: 'of this model' },
  provider: { type: 'string', value: 'NAME', help: 'of this provider' },
  since: { type: 'string', value: 'TIME', help: 'from then on: 30s, 5m, 2h, 7d, or 2026-01-31T12:00:00Z' },
  until: { type: 'string', value: 'TIME', help: 'before then' },
  limit: { type: 'string', value: 'N', help: 'with --calls: the newest N; default 100' },
  json: { type: 'boolean', help: 'prints JSON' },
} as const;

export const usage = defineCommand({
  name: 'usage',
  summary: 'shows what model calls used and cost, in sums or call by call',
  args: [],
  options: OPTIONS,
  notes: [
    'IN is all that the model read, of which CACHED came from the provider’s cache; OUT is all that it wrote, of which REASONING was not shown. USD is by the providers’ list prices.',
    'FAILED calls are those that did not end as completed, refused ones among them: --calls shows each with its OUTCOME.',
    'PRESUMED calls are those that nobody counted to the end: what was not told is presumed of what had passed, or is what was reserved for them, and it is in IN, OUT and USD. UNMETERED calls were completed, but their provider did not say what they used: those that reserved anything are PRESUMED, too. UNPRICED calls are those whose price is not known: they are in IN and OUT, but not in USD.',
  ],
  examples: [
    'npx sallyport usage --by model --since 24h',
    'npx sallyport usage --by day --json',
    'npx sallyport usage --calls --limit 20',
  ],
  run: async ({ options }, io) => {
    const { by, limit, session, turn, agent, model, provider } = options;
    if (options.calls && by !== undefined)
      throw wrong(usage, '--calls are not summed: --by does not go with it');
    if (!options.calls && limit !== undefined) throw wrong(usage, '--limit goes with --calls');
    const [since, until] = [readMoment('since', options), readMoment('until', options)];
    const filter = { session, turn, agent, model, provider, since, until };
    const calls = options.calls ? readLimit(limit) : null;
    const { found, lines } = await read(await openApi(io), filter, by, calls);
    if (options.json) io.out(JSON.stringify(found, null, 2));
    else for (const line of formatTable(lines)) io.out(line);
    return EXIT.done;
  },
});

/** @param calls how many, or `null` for sums */
async function read(
  api: Api,
  filter: Readonly<Record<string, string | undefined>>,
  by = 'agent',
  calls: number | null,
): Promise<{ readonly found: readonly unknown[]; readonly lines: readonly (readonly string[])[] }> {
  if (calls !== null) {
    const found = await readNewest<CallAnswer>(api, '/v1/usage/calls', filter, calls);
    return { found, lines: [CALL_COLUMNS, ...found.map(formatCall)] };
  }
  const found = await api.call<readonly SumAnswer[]>('GET', `/v1/usage${query({ by, ...filter })}`);
  return { found, lines: [[by.toUpperCase(), ...SUM_COLUMNS], ...found.map(formatSum)] };
}

function readLimit(text = '100'): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw wrong(usage, '--limit is not a number from 1 to 999999');
  return Number(text);
}

function readMoment(name: 'since' | 'until', options: Values<typeof OPTIONS>): string | undefined {
  const text = options[name];
  if (text === undefined) return undefined;
  const moment = parseSince(text, new Date());
  if (!moment) throw wrong(usage, `--${name} is not like 30s, 5m, 2h, 7d or 2026-01-31T12:00:00Z`);
  return moment.toISOString();
}
