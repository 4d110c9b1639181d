/** `credential list|rotate|rm`: credentials without their values, which never come out again. */
import type { StoredSecretSettings } from '../../core-lite/vault/credential.ts';
import { readStoredPlacement } from '../../core-lite/vault/placement.ts';
import { openApi, path, query } from '../api.ts';
import { defineCommand, type Io, wrong } from '../command.ts';
import { EXIT } from '../command-error.ts';
import { describePlacement, describeRules } from '../placement.ts';
import { planSecrets, readSecrets, SECRET_OPTIONS } from '../secret-source.ts';
import { formatMoment, formatTable } from '../table.ts';

/** A credential as core answers it. */
export interface CredentialAnswer {
  readonly id: string;
  readonly vault: string;
  readonly name: string;
  readonly kind: string;
  readonly hosts: readonly string[];
  readonly user: string | null;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly version: number;
  /** Why an oauth credential has got no new token. */
  readonly problem: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export const credentialList = defineCommand({
  name: 'credential list',
  summary: 'lists the credentials, of all vaults or of one; never their values',
  args: ['[VAULT]'],
  options: { json: { type: 'boolean', help: 'prints JSON' } },
  examples: ['npx sallyport credential list team'],
  run: async ({ args: [vault], options }, io) => {
    const api = await openApi(io);
    const found = await api.call<readonly CredentialAnswer[]>('GET', `/v1/credentials${query({ vault })}`);
    if (options.json) io.out(JSON.stringify(found, null, 2));
    else for (const line of formatTable([HEAD, ...found.map(credentialRow)])) io.out(line);
    return EXIT.done;
  },
});

export const credentialRotate = defineCommand({
  name: 'credential rotate',
  summary: 'replaces the value of a credential; the next request takes the new one',
  args: ['VAULT/NAME'],
  options: { ...SECRET_OPTIONS, json: { type: 'boolean', help: 'prints JSON' } },
  notes: [
    'The value comes from a file, an environment variable or standard input, never from the command line. One line end at its end is not part of it. All parts are replaced: name each with --secret where there are several.',
  ],
  examples: ['npx sallyport credential rotate team/github --from-file new-token'],
  run: async ({ args: [name], options }, io) => {
    const target = parseCredentialName(credentialRotate, name);
    const sources = planSecrets(options);
    const api = await openApi(io);
    const secret = await readSecrets(sources, io);
    const at = path`/v1/vaults/${target.vault}/credentials/${target.name}/rotate`;
    const saved = await api.call<CredentialAnswer>('POST', at, { secret });
    showCredential(saved, options.json === true, io);
    return EXIT.done;
  },
});

export const credentialRemove = defineCommand({
  name: 'credential rm',
  summary: 'deletes a credential that no environment is bound to',
  args: ['VAULT/NAME'],
  options: {},
  examples: ['npx sallyport credential rm team/github'],
  run: async ({ args: [name] }, io) => {
    const target = parseCredentialName(credentialRemove, name);
    const api = await openApi(io);
    await api.call('DELETE', path`/v1/vaults/${target.vault}/credentials/${target.name}`);
    io.out(`credential ${name} is deleted`);
    return EXIT.done;
  },
});

/** Throws a usage error of `command`. */
export function parseCredentialName(
  command: { readonly name: string },
  text: string,
): { readonly vault: string; readonly name: string } {
  const [vault, name, ...rest] = text.split('/');
  if (vault && name && rest.length === 0) return { vault, name };
  throw wrong(command, 'a credential is named VAULT/NAME, as in team/github');
}

export function showCredential(credential: CredentialAnswer, json: boolean, io: Io): void {
  const { vault, name, kind, hosts, version } = credential;
  const first = `${vault}/${name}: ${kind} for ${hosts.join(' ')}, version ${version}`;
  if (json) io.out(JSON.stringify(credential, null, 2));
  else for (const line of [first, ...describeUse(credential).map((use) => `  ${use}`)]) io.out(line);
}

/** How it is used, where that is not the same for all of its kind. */
export function describeUse({ settings, problem }: CredentialAnswer): string[] {
  const { placement, rules, valueFrom } = settings as Partial<StoredSecretSettings>;
  return [
    ...(placement ? [`put on ${describePlacement(readStoredPlacement(placement))}`] : []),
    ...(rules ? [`only for ${describeRules(rules)}`] : []),
    ...(valueFrom === undefined ? [] : [`value from ${valueFrom}, read by egress`]),
    ...(problem === null ? [] : [`no new token: ${problem}`]),
  ];
}

function credentialRow(credential: CredentialAnswer): string[] {
  const { vault, name, kind, hosts, user, version, updatedAt } = credential;
  const use = describeUse(credential).join('; ') || '-';
  return [
    `${vault}/${name}`,
    kind,
    hosts.join(' '),
    user ?? '-',
    String(version),
    formatMoment(updatedAt),
    use,
  ];
}

const HEAD = ['CREDENTIAL', 'KIND', 'HOSTS', 'USER', 'VERSION', 'UPDATED', 'USE'];
