/** `credential put`: makes or replaces a credential. Its value is never an argument: see `secret-source.ts`. */
import { CREDENTIAL_KINDS } from '../../core-lite/vault/credential.ts';
import { openApi, path } from '../api.ts';
import { defineCommand, type Values, wrong } from '../command.ts';
import { EXIT } from '../command-error.ts';
import { planSecrets, readSecrets, SECRET_OPTIONS } from '../secret-source.ts';
import { type CredentialAnswer, parseCredentialName, showCredential } from './credential.ts';

const OPTIONS = {
  kind: { type: 'string', choices: CREDENTIAL_KINDS, help: 'what it is; required' },
  host: { type: 'string', multiple: true, value: 'PATTERN', help: 'a host it may go to; required' },
  ...SECRET_OPTIONS,
  variable: { type: 'string', value: 'NAME', help: 'its variable in the pod (environment_*)' },
  header: {
    type: 'string',
    value: 'NAME',
    help: 'the header it is put into (environment_secret); default authorization',
  },
  format: {
    type: 'string',
    value: 'TEXT',
    help: "the header's value, {} where the secret goes; default 'Bearer {}' in authorization, else '{}'",
  },
  user: { type: 'string', value: 'USER', help: 'whose it is, when it is one person’s' },
  'token-url': { type: 'string', value: 'URL', help: 'where tokens are got (oauth)' },
  'client-id': { type: 'string', value: 'ID', help: 'oauth' },
  grant: { type: 'string', choices: ['client_credentials', 'refresh_token'], help: 'oauth' },
  json: { type: 'boolean', help: 'prints JSON' },
} as const;

export const credentialPut = defineCommand({
  name: 'credential put',
  summary: 'makes a credential, or replaces one of the same kind',
  args: ['VAULT/NAME'],
  options: OPTIONS,
  notes: [
    'The value comes from a file, an environment variable or standard input, never from the command line; without an option it is read from standard input. One line end at its end is not part of it. A secret has at least 8 bytes.',
    'Most kinds have the one part "value". headers has a part for each header, named as the header; oauth has client_secret and perhaps refresh_token: name each with --secret.',
  ],
  examples: [
    'npx sallyport credential put team/github --kind environment_secret --variable GITHUB_TOKEN --host api.github.com --from-file token',
    'pass show openai | npx sallyport credential put team/openai --kind model_key --host api.openai.com',
    'npx sallyport credential put team/search --kind headers --host search.example.com --secret x-api-key=env:KEY --secret x-account=file:account',
  ],
  run: async ({ args: [text], options }, io) => {
    const { vault, name } = parseCredentialName(credentialPut, text);
    const { kind, host: hosts } = options;
    if (!kind || !hosts) throw wrong(credentialPut, 'credential put needs --kind and at least one --host');
    if ((kind === 'headers' || kind === 'oauth') && !options.secret)
      throw wrong(credentialPut, `the parts of ${kind} are named: --secret PART=SOURCE`);
    const sources = planSecrets(options);
    const api = await openApi(io);
    const body = { kind, hosts, ...readSettings(options), secret: await readSecrets(sources, io) };
    const at = path`/v1/vaults/${vault}/credentials/${name}`;
    showCredential(await api.call<CredentialAnswer>('PUT', at, body), options.json === true, io);
    return EXIT.done;
  },
});

/** What was given, in the API's words. Which of it goes with a kind is core's to say. */
function readSettings(options: Values<typeof OPTIONS>): object {
  const settings = {
    user: options.user,
    variable: options.variable,
    placement: readPlacement(options.header, options.format),
    tokenUrl: options['token-url'],
    clientId: options['client-id'],
    grant: options.grant,
  };
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
}

function readPlacement(header: string | undefined, format: string | undefined): object | undefined {
  if (header === undefined && format === undefined) return undefined;
  const name = header ?? 'authorization';
  return { header: name, format: format ?? (name.toLowerCase() === 'authorization' ? 'Bearer {}' : '{}') };
}
