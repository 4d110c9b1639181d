/**
 * `env put`: makes an environment or replaces its whole policy, so that what stands on the command line, or in the
 * file, is all that holds afterwards. Only --add-allow and --remove-allow keep what they do not name.
 */
import { nearest } from '../../core-lite/spelling.ts';
import { ENVIRONMENT_KINDS } from '../../core-lite/state/environment-store.ts';
import { type Api, openApi, path } from '../api.ts';
import { defineCommand, type Io, type Values, wrong } from '../command.ts';
import { CommandError, EXIT } from '../command-error.ts';
import { readInput } from '../secret-source.ts';
import { type EnvironmentAnswer, policyOf, showEnvironment } from './env.ts';

const OPTIONS = {
  allow: {
    type: 'string',
    multiple: true,
    value: 'PATTERN',
    help: 'a host, *.suffix, or either with :port, that may be reached',
  },
  mode: {
    type: 'string',
    choices: ['enforce', 'report'],
    help: 'report lets through what is not allowed, and records it; default enforce',
  },
  kind: { type: 'string', choices: ENVIRONMENT_KINDS, help: 'default pod' },
  credential: {
    type: 'string',
    multiple: true,
    value: 'VAULT/NAME',
    help: 'an environment secret or variable',
  },
  'max-connections': { type: 'string', value: 'N', help: 'open at once at most; default 1000' },
  'new-per-second': { type: 'string', value: 'N', help: 'opened in a second at most; default 200' },
  file: { type: 'string', value: 'FILE', help: 'takes the policy from JSON instead; - is standard input' },
  'add-allow': { type: 'string', multiple: true, value: 'PATTERN', help: 'adds to what is allowed now' },
  'remove-allow': {
    type: 'string',
    multiple: true,
    value: 'PATTERN',
    help: 'takes from what is allowed now',
  },
  json: { type: 'boolean', help: 'prints JSON' },
} as const;

export const envPut = defineCommand({
  name: 'env put',
  summary: 'makes an environment, or replaces the whole policy of one',
  args: ['NAME'],
  options: OPTIONS,
  notes: [
    'It replaces: what you leave out goes back to its default, and without --allow nothing may be reached. With --add-allow or --remove-allow the environment must exist, and all that you do not name stays as it is. (Two people who do that at the same moment may undo each other.)',
    'A file holds any of the fields kind, mode, allow, credentials, maxConnections, newPerSecond.',
  ],
  examples: [
    "npx sallyport env put demo --allow api.example.com --allow '*.pypi.org' --allow git.example.com:22",
    'npx sallyport env put demo --add-allow registry.npmjs.org',
    'npx sallyport env put demo --file env.json',
  ],
  run: async ({ args: [name], options }, io) => {
    const api = await openApi(io);
    const body = await makeBody(api, name, options, io);
    const saved = await api.call<EnvironmentAnswer>('PUT', path`/v1/environments/${name}`, body);
    showEnvironment(saved, options.json === true, io);
    return EXIT.done;
  },
});

type Options = Values<typeof OPTIONS>;

async function makeBody(api: Api, name: string, options: Options, io: Io): Promise<object> {
  const { file, 'add-allow': added, 'remove-allow': removed } = options;
  const given = readPolicy(options);
  if (file !== undefined) {
    if (Object.keys(given).length > 0 || added || removed)
      throw wrong(envPut, '--file holds the whole policy: no other option goes with it');
    return readPolicyFile(await readInput(file, io), file);
  }
  if (!added && !removed) return given;
  if (given.allow) throw wrong(envPut, '--allow replaces what --add-allow and --remove-allow change');
  const now = await api.call<EnvironmentAnswer>('GET', path`/v1/environments/${name}`);
  return { ...policyOf(now), ...given, allow: changeAllow(now.allow, added ?? [], removed ?? []) };
}

function readPolicy(options: Options): { readonly allow?: readonly string[] } {
  const fields = {
    allow: options.allow,
    mode: options.mode,
    kind: options.kind,
    credentials: options.credential,
    maxConnections: readCount('max-connections', options['max-connections']),
    newPerSecond: readCount('new-per-second', options['new-per-second']),
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function readCount(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,7}$/.test(text)) throw wrong(envPut, `--${option} is not a number from 0 on`);
  return Number(text);
}

function changeAllow(
  now: readonly string[],
  added: readonly string[],
  removed: readonly string[],
): readonly string[] {
  const missing = removed.find((pattern) => !now.includes(pattern));
  if (missing !== undefined)
    throw new CommandError(`${JSON.stringify(missing)} is not allowed now`, 'see sallyport env get');
  return [...now.filter((pattern) => !removed.includes(pattern)), ...added];
}

function readPolicyFile(text: string, file: string): object {
  const policy = parseObject(text);
  if (!policy)
    throw new CommandError(`${file} does not hold one JSON object`, 'see sallyport env put --help');
  const strange = Object.keys(policy).find((field) => !POLICY_FIELDS.some((known) => known === field));
  if (strange === undefined) return policy;
  const close = nearest(strange, POLICY_FIELDS);
  throw new CommandError(
    `${file}: ${JSON.stringify(strange)} is not a field${close ? `, did you mean ${close}?` : ''}`,
    `the fields are ${POLICY_FIELDS.join(', ')}`,
  );
}

function parseObject(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

const POLICY_FIELDS = ['kind', 'mode', 'allow', 'credentials', 'maxConnections', 'newPerSecond'] as const;
