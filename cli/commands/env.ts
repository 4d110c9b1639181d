/** `env get|list|rm`: environments as they are. What one may reach is set by `env put`. */
import { openApi, path } from '../api.ts';
import { defineCommand, type Io } from '../command.ts';
import { EXIT } from '../command-error.ts';
import { formatMoment, formatTable } from '../table.ts';

/** An environment as core answers it. */
export interface EnvironmentAnswer {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
  readonly mode: 'enforce' | 'report';
  readonly allow: readonly string[];
  readonly maxConnections: number;
  readonly newPerSecond: number;
  readonly credentials: readonly string[];
  readonly hostEpoch: number;
  readonly podUid: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export const envGet = defineCommand({
  name: 'env get',
  summary: 'shows one environment: what it may reach, its limits, its credentials',
  args: ['NAME'],
  options: { json: { type: 'boolean', help: 'prints JSON' } },
  examples: ['npx sallyport env get demo'],
  run: async ({ args: [name], options }, io) => {
    const api = await openApi(io);
    showEnvironment(
      await api.call<EnvironmentAnswer>('GET', path`/v1/environments/${name}`),
      options.json === true,
      io,
    );
    return EXIT.done;
  },
});

export const envList = defineCommand({
  name: 'env list',
  summary: 'lists the environments',
  args: [],
  options: { json: { type: 'boolean', help: 'prints JSON' } },
  examples: ['npx sallyport env list'],
  run: async ({ options }, io) => {
    const api = await openApi(io);
    const found = await api.call<readonly EnvironmentAnswer[]>('GET', '/v1/environments');
    if (options.json) io.out(JSON.stringify(found, null, 2));
    else for (const line of formatTable([HEAD, ...found.map(environmentRow)])) io.out(line);
    return EXIT.done;
  },
});

export const envRemove = defineCommand({
  name: 'env rm',
  summary: 'deletes an environment: its tokens are refused and its open connections end within a second',
  args: ['NAME'],
  options: {},
  notes: ['Its record stays.'],
  examples: ['npx sallyport env rm demo'],
  run: async ({ args: [name] }, io) => {
    const api = await openApi(io);
    await api.call('DELETE', path`/v1/environments/${name}`);
    io.out(`environment ${name} is deleted`);
    return EXIT.done;
  },
});

/** What `PUT` takes: of an environment as it is, all that one can set. */
export function policyOf({
  kind,
  mode,
  allow,
  credentials,
  maxConnections,
  newPerSecond,
}: EnvironmentAnswer) {
  return { kind, mode, allow, credentials, maxConnections, newPerSecond };
}

/** Prints an environment, one field a line. */
export function showEnvironment(environment: EnvironmentAnswer, json: boolean, io: Io): void {
  if (json) {
    io.out(JSON.stringify(environment, null, 2));
    return;
  }
  const rows = Object.entries(environment).map(([name, value]) => [name, formatField(value)]);
  for (const line of formatTable(rows)) io.out(line);
}

function formatField(value: unknown): string {
  if (Array.isArray(value)) return value.length > 0 ? value.join(' ') : '-';
  return value === null ? '-' : String(value);
}

function environmentRow(environment: EnvironmentAnswer): string[] {
  const { name, kind, mode, allow, credentials, updatedAt } = environment;
  return [name, kind, mode, String(allow.length), String(credentials.length), formatMoment(updatedAt)];
}

const HEAD = ['NAME', 'KIND', 'MODE', 'ALLOWED', 'CREDENTIALS', 'UPDATED'];
