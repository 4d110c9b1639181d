/** `keys list|rotate|import|revoke`: the keys that sign tokens. A private half goes in and never comes out. */
import { Secret } from '../../core-lite/secret.ts';
import { openApi, path } from '../api.ts';
import { defineCommand } from '../command.ts';
import { EXIT } from '../command-error.ts';
import { readInput } from '../secret-source.ts';
import { formatMoment, formatTable } from '../table.ts';

interface SigningKeyAnswer {
  readonly kid: string;
  readonly state: string;
  readonly imported: boolean;
  readonly createdAt: string;
  readonly revokedAt: string | null;
}

export const keysList = defineCommand({
  name: 'keys list',
  summary: 'lists the signing keys: the current one signs, previous ones only verify',
  args: [],
  options: { json: { type: 'boolean', help: 'prints JSON' } },
  examples: ['npx sallyport keys list'],
  run: async ({ options }, io) => {
    const api = await openApi(io);
    const found = await api.call<readonly SigningKeyAnswer[]>('GET', '/v1/signing-keys');
    if (options.json) io.out(JSON.stringify(found, null, 2));
    else for (const line of formatTable([HEAD, ...found.map(keyRow)])) io.out(line);
    return EXIT.done;
  },
});

export const keysRotate = defineCommand({
  name: 'keys rotate',
  summary: 'makes a new current signing key; what the one before signed stays good',
  args: [],
  options: {},
  examples: ['npx sallyport keys rotate'],
  run: async (_, io) => {
    const api = await openApi(io);
    const { kid } = await api.call<{ kid: string }>('POST', '/v1/signing-keys/rotate');
    io.out(`${kid} is the current signing key`);
    return EXIT.done;
  },
});

export const keysImport = defineCommand({
  name: 'keys import',
  summary: 'takes a P-256 key in PEM that was made outside; tokens that it signed are good from now on',
  args: ['FILE'],
  options: { current: { type: 'boolean', help: 'signs with it too, which needs its private half' } },
  notes: ['FILE may be - for standard input. A private half that does not sign is not kept.'],
  examples: ['npx sallyport keys import outside.pem'],
  run: async ({ args: [file], options }, io) => {
    const api = await openApi(io);
    const body = { pem: new Secret(await readInput(file, io)), current: options.current === true };
    const { kid } = await api.call<{ kid: string }>('POST', '/v1/signing-keys/import', body);
    io.out(`${kid} is imported${options.current ? ' and the current signing key' : ''}`);
    return EXIT.done;
  },
});

export const keysRevoke = defineCommand({
  name: 'keys revoke',
  summary: 'revokes a signing key: every token that it signed is refused within a second',
  args: ['KID'],
  options: {},
  notes: ['The current key cannot be revoked: rotate first. A KID that begins with - is written behind --.'],
  examples: ['npx sallyport keys revoke Xo3…'],
  run: async ({ args: [kid] }, io) => {
    const api = await openApi(io);
    await api.call('POST', path`/v1/signing-keys/${kid}/revoke`);
    io.out(`${kid} is revoked`);
    return EXIT.done;
  },
});

function keyRow({ kid, state, imported, createdAt, revokedAt }: SigningKeyAnswer): string[] {
  const revoked = revokedAt === null ? '-' : formatMoment(revokedAt);
  return [kid, state, imported ? 'imported' : 'made here', formatMoment(createdAt), revoked];
}

const HEAD = ['KID', 'STATE', 'ORIGIN', 'CREATED', 'REVOKED'];
