/** `admin-key add|list|rm`: who may use the admin API. A key is shown once, when it is made. */
import { type Api, openApi, path } from '../api.ts';
import { defineCommand, wrong } from '../command.ts';
import { CommandError, EXIT } from '../command-error.ts';
import { formatMoment, formatTable } from '../table.ts';

interface AdminKeyAnswer {
  readonly id: string;
  readonly name: string;
  readonly role: 'full' | 'read_only';
  readonly createdAt: string;
  readonly revokedAt: string | null;
}

export const adminKeyAdd = defineCommand({
  name: 'admin-key add',
  summary: 'makes an admin key and prints it, this once',
  args: ['NAME'],
  options: { 'read-only': { type: 'boolean', help: 'it may look at everything and change nothing' } },
  notes: ['Standard output is the key and nothing else; the database keeps its hash only.'],
  examples: [
    '(umask 077; npx sallyport admin-key add alice > alice.key)',
    '(umask 077; npx sallyport admin-key add auditor --read-only > auditor.key)',
  ],
  run: async ({ args: [name], options }, io) => {
    const role = options['read-only'] ? 'read_only' : 'full';
    const api = await openApi(io);
    const made = await api.call<AdminKeyAnswer & { readonly key: string }>('POST', '/v1/admin-keys', {
      name,
      role,
    });
    io.err(`${made.id} ${name}: ${describeRole(role)}; name its file in SALLYPORT_ADMIN_KEY_FILE`);
    io.out(made.key);
    return EXIT.done;
  },
});

export const adminKeyList = defineCommand({
  name: 'admin-key list',
  summary: 'lists the admin keys, revoked ones too',
  args: [],
  options: { json: { type: 'boolean', help: 'prints JSON' } },
  examples: ['npx sallyport admin-key list'],
  run: async ({ options }, io) => {
    const found = (await listKeys(await openApi(io))).toReversed();
    if (options.json) io.out(JSON.stringify(found, null, 2));
    else for (const line of formatTable([HEAD, ...found.map(adminKeyRow)])) io.out(line);
    return EXIT.done;
  },
});

export const adminKeyRemove = defineCommand({
  name: 'admin-key rm',
  summary: 'revokes an admin key: it is refused at once',
  args: ['NAME'],
  options: {},
  notes: ['NAME may also be its id, where two have one name. The last key that may do everything stays.'],
  examples: ['npx sallyport admin-key rm alice'],
  run: async ({ args: [name] }, io) => {
    const api = await openApi(io);
    const { id } = pick(name, await listKeys(api));
    await api.call('POST', path`/v1/admin-keys/${id}/revoke`);
    io.out(`admin key ${name} is revoked`);
    return EXIT.done;
  },
});

function listKeys(api: Api): Promise<readonly AdminKeyAnswer[]> {
  return api.call('GET', '/v1/admin-keys');
}

/** The one key that is meant: a wrong guess would lock somebody out. */
function pick(name: string, keys: readonly AdminKeyAnswer[]): AdminKeyAnswer {
  const live = keys.filter(({ revokedAt }) => revokedAt === null);
  const named = live.filter((key) => key.id === name || key.name === name);
  if (named.length > 1) throw wrong(adminKeyRemove, `${named.length} keys have this name: give the id`);
  const [key] = named;
  if (key) return key;
  throw new CommandError(`there is no admin key ${name}`, 'see sallyport admin-key list');
}

function adminKeyRow({ id, name, role, createdAt, revokedAt }: AdminKeyAnswer): string[] {
  const revoked = revokedAt === null ? '-' : formatMoment(revokedAt);
  return [id, name, role, formatMoment(createdAt), revoked];
}

function describeRole(role: AdminKeyAnswer['role']): string {
  return role === 'full' ? 'may do everything' : 'may only read';
}

const HEAD = ['ID', 'NAME', 'ROLE', 'CREATED', 'REVOKED'];
