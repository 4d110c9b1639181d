/** `vault put|list|rm`: named groups of credentials. */
import { openApi, path } from '../api.ts';
import { defineCommand } from '../command.ts';
import { EXIT } from '../command-error.ts';
import { formatMoment, formatTable } from '../table.ts';

interface VaultAnswer {
  readonly id: string;
  readonly name: string;
  readonly credentials: number;
  readonly createdAt: string;
}

export const vaultPut = defineCommand({
  name: 'vault put',
  summary: 'makes a vault; one that is there stays as it is',
  args: ['NAME'],
  options: {},
  examples: ['npx sallyport vault put team'],
  run: async ({ args: [name] }, io) => {
    const api = await openApi(io);
    await api.call('PUT', path`/v1/vaults/${name}`);
    io.out(`vault ${name} is there`);
    return EXIT.done;
  },
});

export const vaultList = defineCommand({
  name: 'vault list',
  summary: 'lists the vaults',
  args: [],
  options: { json: { type: 'boolean', help: 'prints JSON' } },
  examples: ['npx sallyport vault list'],
  run: async ({ options }, io) => {
    const api = await openApi(io);
    const found = await api.call<readonly VaultAnswer[]>('GET', '/v1/vaults');
    const rows = found.map(({ name, credentials, createdAt }) => [
      name,
      String(credentials),
      formatMoment(createdAt),
    ]);
    if (options.json) io.out(JSON.stringify(found, null, 2));
    else for (const line of formatTable([HEAD, ...rows])) io.out(line);
    return EXIT.done;
  },
});

export const vaultRemove = defineCommand({
  name: 'vault rm',
  summary: 'deletes an empty vault',
  args: ['NAME'],
  options: {},
  examples: ['npx sallyport vault rm team'],
  run: async ({ args: [name] }, io) => {
    const api = await openApi(io);
    await api.call('DELETE', path`/v1/vaults/${name}`);
    io.out(`vault ${name} is deleted`);
    return EXIT.done;
  },
});

const HEAD = ['NAME', 'CREDENTIALS', 'CREATED'];
