/**
 * `learn`: from what an environment was seen to use, the smallest allowlist that covers it; and the record judged anew
 * by the policy of today. It changes the policy only with --apply, and then only adds.
 */
import { parseHostPatterns } from '../../core-lite/network/policy.ts';
import { type Api, openApi, path, query } from '../api.ts';
import { defineCommand, type Values, wrong } from '../command.ts';
import { EXIT } from '../command-error.ts';
import { learnEntries } from '../learn/allowlist.ts';
import { replay } from '../learn/replay.ts';
import { type DestinationAnswer, type Lesson, showLesson, showReplay, sumTargets } from '../learn/show.ts';
import { parseSince } from '../since.ts';
import { type EnvironmentAnswer, policyOf } from './env.ts';

const OPTIONS = {
  env: { type: 'string', value: 'NAME', help: 'the environment; required' },
  since: { type: 'string', value: 'TIME', help: 'from then on: 30s, 5m, 2h, 7d, or a moment; default 1d' },
  all: {
    type: 'boolean',
    help: 'what was allowed too: a whole new list, without what stands on the present one',
  },
  suffix: { type: 'string', value: 'N', help: 'N hosts directly under one name, or more, become *.name' },
  apply: { type: 'boolean', help: 'adds the entries to the allowlist of the environment' },
  mode: { type: 'string', choices: ['enforce', 'report'], help: 'with --apply: sets the mode too' },
  replay: { type: 'boolean', help: 'instead: shows whose decision would change under the present policy' },
  json: { type: 'boolean', help: 'prints JSON' },
} as const;

export const learn = defineCommand({
  name: 'learn',
  summary: 'prints the smallest allowlist that covers what an environment was seen to use',
  args: [],
  options: OPTIONS,
  notes: [
    'Put the environment into report mode (sallyport env put --mode report), let the agent work, then ask for what was reported. Read the list before you apply it: whatever ran in the environment decides what stands there. A host with a port other than 443 and 80 has it in its entry.',
    '--suffix never makes *.name of a name with fewer than two labels, of one that looks like a country’s registry (co.uk), or of hosting and content networks where anybody can have a name. That rule is small: other shared names are for you to see.',
    'Below the list stands what it would still deny: ports and IP addresses, which report mode denies too, and what was let through but could not be reached. Limits are judged as if nothing were open.',
    'With --apply all that it does not add stays as it is. (Two people who change one environment at the same moment may undo each other.)',
  ],
  examples: [
    'npx sallyport learn --env demo --since 1d',
    'npx sallyport learn --env demo --since 7d --suffix 3 --apply --mode enforce',
    'npx sallyport learn --env demo --replay',
  ],
  run: async ({ options }, io) => {
    const { name, since, siblings } = readOptions(options);
    const api = await openApi(io);
    const environment = await api.call<EnvironmentAnswer>('GET', path`/v1/environments/${name}`);
    const rows = await readDestinations(api, name, since);
    const shown = { environment: name, since: since.toISOString(), truncated: rows.length >= MAX_ROWS };
    if (options.replay) {
      const network = { ...environment, allow: parseHostPatterns(environment.allow) };
      showReplay({ ...shown, replayed: replay(rows, network) }, options.json === true, io);
      return EXIT.done;
    }
    const lesson = { ...shown, ...learnFrom(environment, rows, options.all === true, siblings) };
    const applied = options.apply ? await apply(api, environment, lesson, options.mode) : null;
    showLesson({ ...lesson, applied }, options.json === true, io);
    return EXIT.done;
  },
});

function readOptions(options: Values<typeof OPTIONS>) {
  const { env: name, since: written = '1d', suffix } = options;
  if (!name) throw wrong(learn, 'learn needs --env');
  if (options.all && options.apply)
    throw wrong(learn, '--all prints a whole new list, and --apply only adds: set it with env put --allow');
  if (options.mode && !options.apply) throw wrong(learn, '--mode goes with --apply');
  if (options.replay && (options.all || options.apply || suffix))
    throw wrong(learn, '--replay makes no list: --all, --apply and --suffix do not go with it');
  const since = parseSince(written, new Date());
  if (!since) throw wrong(learn, '--since is not like 30s, 5m, 2h, 7d or 2026-01-31T12:00:00Z');
  if (suffix !== undefined && !/^([2-9]|[1-9]\d{1,3})$/.test(suffix))
    throw wrong(learn, '--suffix is not a number from 2 to 9999');
  return { name, since, siblings: suffix === undefined ? undefined : Number(suffix) };
}

function readDestinations(api: Api, name: string, since: Date): Promise<readonly DestinationAnswer[]> {
  const asked = query({ since: since.toISOString(), limit: MAX_ROWS });
  return api.call('GET', `${path`/v1/environments/${name}/destinations`}${asked}`);
}

/** What the list would be, and what it would deny. */
function learnFrom(
  environment: EnvironmentAnswer,
  rows: readonly DestinationAnswer[],
  all: boolean,
  siblings: number | undefined,
): Pick<Lesson, 'entries' | 'allow' | 'denied'> {
  const before = all ? [] : environment.allow;
  const judge = (allow: readonly string[]) =>
    replay(rows, { ...UNLIMITED, mode: 'enforce', allow: parseHostPatterns(allow) });
  const seen = judge(before)
    .filter(({ row, decision }) => row.verdict !== 'denied' && decision.verdict === 'denied')
    .filter(({ row }) => all || row.verdict === 'reported');
  const entries = learnEntries(
    seen.map(({ row }) => row),
    siblings,
  );
  const allow = [...before, ...entries.map(({ pattern }) => pattern)];
  const denied = judge(allow).filter(({ decision }) => decision.verdict === 'denied');
  return { entries, allow, denied: sumTargets(denied) };
}

/** @returns the policy as it is now */
function apply(
  api: Api,
  environment: EnvironmentAnswer,
  { allow }: Pick<Lesson, 'allow'>,
  mode: string | undefined,
): Promise<EnvironmentAnswer> {
  const body = { ...policyOf(environment), allow, ...(mode ? { mode } : {}) };
  return api.call('PUT', path`/v1/environments/${environment.name}`, body);
}

/** The API's largest answer. */
const MAX_ROWS = 10_000;
const UNLIMITED = { maxConnections: Number.POSITIVE_INFINITY, newPerSecond: Number.POSITIVE_INFINITY };
