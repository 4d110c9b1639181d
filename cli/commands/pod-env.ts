/**
 * `pod env`: the variables and files that `run` gives to a workload, for whoever wires a pod or an image by hand. One
 * source with `run`: pod/variables.ts. No token is minted or read: the only credential that can stand in what is
 * printed is the one in a given URL.
 */
import { isAbsolute, resolve } from 'node:path';
import { nameFiles, writeClientFiles } from '../../pod/files.ts';
import { type Unsafe, UnsafeFolder } from '../../pod/safe-folder.ts';
import { makeVariables, SENTINEL } from '../../pod/variables.ts';
import { UnwritableValue, writeDotenv, writeShell } from '../../pod/write-variables.ts';
import { openApi, path } from '../api.ts';
import { defineCommand, type Io, wrong } from '../command.ts';
import { CommandError, EXIT } from '../command-error.ts';
import { loadTrust } from '../trust.ts';

export const podEnv = defineCommand({
  name: 'pod env',
  summary: 'prints the variables that lead a workload’s clients to the proxy, and writes their files',
  args: [],
  options: {
    proxy: { type: 'string', value: 'URL', help: 'the relay or egress, with its port; required' },
    gates: {
      type: 'string',
      value: 'URL',
      help: 'the relay’s model side or the gates, as the workload sees them: adds the base URL and key variables of models',
    },
    env: {
      type: 'string',
      value: 'NAME',
      help: 'adds the sentinels and plain variables of this environment',
    },
    dir: { type: 'string', value: 'DIR', help: 'writes the files there; without it none is written' },
    at: {
      type: 'string',
      value: 'PATH',
      help: 'where the workload finds them, if elsewhere; default DIR, or /etc/sallyport',
    },
    'java-proxy': {
      type: 'string',
      value: 'HOST:PORT',
      help: 'a proxy that asks Java for no password; default URL, where it has none',
    },
    shell: { type: 'boolean', help: 'prints lines for a POSIX shell; the default' },
    dotenv: { type: 'boolean', help: 'prints lines for docker --env-file, Compose and node --env-file' },
    json: { type: 'boolean', help: 'prints JSON' },
  },
  notes: [
    'Whatever credential stands in a URL stands in what is printed: leave it out where a relay asks for none, and put nothing of it into an image. An egress token lasts 15 minutes; only a relay renews it.',
    'The key that clients show to the gates is the password in their URL, as in http://run:SECRET@127.0.0.1:4180; without one it is the sentinel, to be set where the workload is started. A gate on another host than loopback is asked through the proxy.',
    'The files hold public roots and the egress CA, no secret. They must be readable by every user of the workload.',
    'Node takes NODE_USE_ENV_PROXY and NODE_EXTRA_CA_CERTS only from the environment that it starts in: node --env-file reads them too late, so set these two where node is started. docker --env-file and Compose set them in time.',
    'Java prints JAVA_TOOL_OPTIONS whenever it starts and shows no password to a proxy, so without --java-proxy it is told of none where URL has a password.',
  ],
  examples: [
    'npx sallyport pod env --proxy http://127.0.0.1:3128 --dir ./trust --at /etc/sallyport --dotenv',
    'npx sallyport pod env --proxy http://127.0.0.1:3128 --gates http://127.0.0.1:4180 --json',
    'eval "$(npx sallyport pod env --proxy http://127.0.0.1:3128 --dir "$HOME/.sallyport-trust")"',
  ],
  run: async ({ options }, io) => {
    const { proxy, env: environment, dir } = options;
    if (!proxy) throw wrong(podEnv, 'pod env needs --proxy');
    const form = readForm(options);
    const { proxyUrl, javaProxy } = readProxy(proxy, options['java-proxy']);
    const models = options.gates === undefined ? null : readGates(options.gates);
    const at = readPlace(dir, options.at);
    const files = dir === undefined ? nameFiles(at) : await writeFiles(resolve(dir), at, io);
    const declared = environment === undefined ? NOTHING : await readDeclared(environment, io);
    const variables = makeVariables({}, { proxyUrl, javaProxy, models, files, ...declared });
    for (const line of format(form, variables)) io.out(line);
    return EXIT.done;
  },
});

type Form = (typeof FORMS)[number];

interface Declared {
  readonly sentinels: readonly string[];
  readonly plain: Readonly<Record<string, string>>;
}

function readForm(options: Partial<Record<Form, boolean>>): Form {
  const given = FORMS.filter((form) => options[form]);
  if (given.length > 1) throw wrong(podEnv, `--${given.join(' and --')} are two forms: give one`);
  return given[0] ?? 'shell';
}

/** As clients take it: without a path, and always with its port, since each has a default of its own. */
function readProxy(text: string, java: string | undefined) {
  const parts = PROXY_URL.exec(text)?.groups;
  if (!parts || !URL.canParse(text) || Number(parts['port']) > 65_535)
    throw wrong(podEnv, '--proxy is not like http://127.0.0.1:3128 or https://user:password@host:4201');
  const { scheme, user, host, port } = parts;
  const open = scheme === 'http' && user === undefined ? `${host}:${port}` : undefined;
  return { proxyUrl: `${scheme}://${user ?? ''}${host}:${port}`, javaProxy: readJavaProxy(java ?? open) };
}

/** The base URL, which gets no path here: each client adds its own. */
function readGates(text: string): { readonly url: string; readonly key: string } {
  const parts = GATES_URL.exec(text)?.groups;
  if (!parts || !URL.canParse(text))
    throw wrong(podEnv, '--gates is not like http://127.0.0.1:4180 or http://run:SECRET@127.0.0.1:4180');
  return { url: `${parts['scheme']}://${parts['place']}`, key: parts['key'] ?? SENTINEL };
}

function readJavaProxy(text: string | undefined) {
  if (text === undefined) return null;
  const [, host, port] = HOST_AND_PORT.exec(text) ?? [];
  if (!host || !port || Number(port) > 65_535) throw wrong(podEnv, '--java-proxy is not like 127.0.0.1:3129');
  return { host, port: Number(port) };
}

/** The paths stand in files of five formats, so they are plain ones. */
function readPlace(dir: string | undefined, at: string | undefined): string {
  const place = at ?? (dir === undefined ? '/etc/sallyport' : resolve(dir));
  if (!isAbsolute(place)) throw wrong(podEnv, '--at is not an absolute path');
  if (!PLAIN_PATH.test(place))
    throw new CommandError(
      'the path of the files has characters that some client’s file cannot hold',
      'use letters, digits and . _ - + / only',
    );
  return place;
}

async function writeFiles(folder: string, at: string, io: Io) {
  const trust = await loadTrust(io);
  return writeClientFiles(folder, at, trust).catch((error: NodeJS.ErrnoException | UnsafeFolder) => {
    if (error instanceof UnsafeFolder) throw unsafe(error);
    throw new CommandError(`the files cannot be written to ${folder} (${error.code})`, 'name another --dir');
  });
}

async function readDeclared(environment: string, io: Io): Promise<Declared> {
  const api = await openApi(io);
  return api.call<Declared>('GET', path`/v1/environments/${environment}/pod-variables`);
}

function format(form: Form, variables: Readonly<Record<string, string>>): readonly string[] {
  if (form === 'json') return [JSON.stringify(variables, null, 2)];
  const lines = form === 'shell' ? writeShell(variables) : writeDotenv(variables);
  if (!(lines instanceof UnwritableValue)) return lines;
  throw new CommandError(
    `${JSON.stringify(lines.name)} has a name or a value that --${form} cannot write so that every reader takes it alike`,
    form === 'shell' ? 'use --json' : 'use --shell or --json',
  );
}

function unsafe({ why, folder }: UnsafeFolder): CommandError {
  return new CommandError(UNSAFE[why](folder), UNSAFE_REMEDY[why](folder));
}

const UNSAFE: Readonly<Record<Unsafe, (folder: string) => string>> = {
  of_another_user: (folder) => `${folder} is another user's, who could change what clients trust`,
  writable_by_others: (folder) =>
    `its group or others may write to ${folder}, and could change what clients trust`,
};
const UNSAFE_REMEDY: Readonly<Record<Unsafe, (folder: string) => string>> = {
  of_another_user: () => 'name a --dir below folders that are your own or root’s',
  writable_by_others: (folder) =>
    `take that away (chmod g-w,o-w ${folder}), or name a --dir below folders that nobody else may write to`,
};
const FORMS = ['shell', 'dotenv', 'json'] as const;
const NOTHING: Declared = { sentinels: [], plain: {} };
const PROXY_URL =
  /^(?<scheme>https?):\/\/(?<user>[A-Za-z0-9._~%+=-]*(?::[A-Za-z0-9._~%+=-]*)?@)?(?<host>[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):(?<port>[1-9]\d{0,4})\/?$/;
const GATES_URL =
  /^(?<scheme>https?):\/\/(?:[A-Za-z0-9._~-]+:(?<key>[A-Za-z0-9._~+=-]+)@)?(?<place>(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::[1-9]\d{0,4})?)\/?$/;
const HOST_AND_PORT = /^([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):([1-9]\d{0,4})$/;
const PLAIN_PATH = /^[A-Za-z0-9._+/-]+$/;
