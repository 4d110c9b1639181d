/** `usage`: what model calls used, in sums. */
import { openApi, query } from '../api.ts';
import { defineCommand, wrong } from '../command.ts';
import { EXIT } from '../command-error.ts';
import { parseSince } from '../since.ts';
import { formatMoment, formatTable } from '../table.ts';

interface UsageAnswer {
  readonly group: string;
  readonly calls: number;
  readonly failed: number;
  readonly unmetered: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
  readonly cacheWriteTokens: number;
  readonly reasoningTokens: number;
  readonly lastAt: string;
}

export const usage = defineCommand({
  name: 'usage',
  summary: 'shows what model calls used, in sums',
  args: [],
  options: {
    by: {
      type: 'string',
      value: 'GROUP',
      choices: ['agent', 'session', 'turn', 'model', 'day'],
      help: 'one line for each agent, session, turn, model or day; default agent',
    },
    since: { type: 'string', value: 'TIME', help: 'from then on: 30s, 5m, 2h, 7d, or 2026-01-31T12:00:00Z' },
    until: { type: 'string', value: 'TIME', help: 'before then' },
    json: { type: 'boolean', help: 'prints JSON' },
  },
  notes: [
    'IN is all that the model read, of which CACHED came from the provider’s cache; OUT is all that it wrote, of which REASONING was not shown. UNMETERED calls are those whose provider did not say what they used.',
  ],
  examples: ['npx sallyport usage --by model --since 24h', 'npx sallyport usage --by day --json'],
  run: async ({ options }, io) => {
    const { by = 'agent' } = options;
    const since = readMoment('since', options.since);
    const until = readMoment('until', options.until);
    const api = await openApi(io);
    const found = await api.call<readonly UsageAnswer[]>('GET', `/v1/usage${query({ by, since, until })}`);
    if (options.json) io.out(JSON.stringify(found, null, 2));
    else for (const line of formatTable([[by.toUpperCase(), ...HEAD], ...found.map(usageRow)])) io.out(line);
    return EXIT.done;
  },
});

function usageRow(sum: UsageAnswer): string[] {
  const { calls, failed, unmetered, inputTokens, cachedTokens, outputTokens, reasoningTokens } = sum;
  const numbers = [calls, failed, unmetered, inputTokens, cachedTokens, outputTokens, reasoningTokens];
  return [sum.group, ...numbers.map(String), formatMoment(sum.lastAt)];
}

function readMoment(name: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const moment = parseSince(text, new Date());
  if (!moment) throw wrong(usage, `--${name} is not like 30s, 5m, 2h, 7d or 2026-01-31T12:00:00Z`);
  return moment.toISOString();
}

const HEAD = ['CALLS', 'FAILED', 'UNMETERED', 'IN', 'CACHED', 'OUT', 'REASONING', 'LAST'];
