/** `credential put`: makes or replaces a credential. Its value is never an argument: see `secret-source.ts`. */
import { CREDENTIAL_KINDS } from '../../core-lite/vault/credential.ts';
import { CLIENT_AUTHS, OAUTH_GRANTS } from '../../core-lite/vault/oauth-settings.ts';
import { openApi, path } from '../api.ts';
import { defineCommand, type Values, wrong } from '../command.ts';
import { EXIT } from '../command-error.ts';
import { PLACEMENT_OPTIONS, readPlacement, readRules } from '../placement.ts';
import { planSecrets, readSecrets, SECRET_OPTIONS, type SecretSource } from '../secret-source.ts';
import { type CredentialAnswer, parseCredentialName, showCredential } from './credential.ts';

const OPTIONS = {
  kind: { type: 'string', choices: CREDENTIAL_KINDS, help: 'what it is; required' },
  host: { type: 'string', multiple: true, value: 'PATTERN', help: 'a host it may go to; required' },
  ...SECRET_OPTIONS,
  'value-from': {
    type: 'string',
    value: 'SOURCE',
    help: 'where egress reads the value for each request, file:PATH or env:NAME; then none is stored (environment_secret)',
  },
  variable: { type: 'string', value: 'NAME', help: 'its variable in the pod (environment_*, oauth)' },
  ...PLACEMENT_OPTIONS,
  user: { type: 'string', value: 'USER', help: 'whose it is, when it is one person’s' },
  'token-url': { type: 'string', value: 'URL', help: 'where tokens are got (oauth)' },
  'client-id': { type: 'string', value: 'ID', help: 'oauth' },
  grant: { type: 'string', choices: OAUTH_GRANTS, help: 'oauth' },
  'client-auth': {
    type: 'string',
    choices: CLIENT_AUTHS,
    help: 'how the client shows who it is (oauth); default client_secret_basic',
  },
  scope: { type: 'string', value: 'TEXT', help: 'what the tokens are for (oauth)' },
  audience: {
    type: 'string',
    value: 'TEXT',
    help: 'whom the tokens are for, where the provider asks (oauth)',
  },
  resource: { type: 'string', value: 'URL', help: 'whom the tokens are for, by RFC 8707 (oauth)' },
  json: { type: 'boolean', help: 'prints JSON' },
} as const;

export const credentialPut = defineCommand({
  name: 'credential put',
  summary: 'makes a credential, or replaces one of the same kind',
  args: ['VAULT/NAME'],
  options: OPTIONS,
  notes: [
    'The value comes from a file, an environment variable or standard input, never from the command line; without an option it is read from standard input. One line end at its end is not part of it. A secret has at least 8 bytes.',
    'An environment_secret is put on requests in one form: as a header (--header, --format), as Basic (--basic-user), as a parameter (--query), or in place of a placeholder (--replace). With --path or --method it goes only on those requests, and what no secret of a host covers is refused; paths that could be read in two ways are refused too.',
    '--value-from names what egress itself reads, on its own machine: a file below SALLYPORT_SECRET_FOLDER, or a variable that SALLYPORT_SECRET_VARIABLES lists. A changed file counts within a second.',
    'Most kinds have the one part "value". headers has a part for each header, named as the header; oauth has client_secret and perhaps refresh_token: name each with --secret.',
    'An oauth credential with a --variable is used like an environment_secret: bind it to environments, and its current token is put on requests to its hosts. Without one it is for the gates.',
  ],
  examples: [
    'npx sallyport credential put team/github --kind environment_secret --variable GITHUB_TOKEN --host api.github.com --from-file token',
    'npx sallyport credential put team/git --kind environment_secret --variable GIT_TOKEN --host git.example.com --basic-user x-access-token --value-from file:git/token',
    'npx sallyport credential put team/cli --kind environment_secret --variable CLI_KEY --host api.example.com --replace --in-header x-api-key --path /v1/ --from-env CLI_KEY',
    'pass show openai | npx sallyport credential put team/openai --kind model_key --host api.openai.com',
    'npx sallyport credential put team/gh --kind oauth --variable GH_TOKEN --host api.example.com --token-url https://login.example.com/token --client-id app --grant client_credentials --secret client_secret=env:SECRET',
    'npx sallyport credential put team/search --kind headers --host search.example.com --secret x-api-key=env:KEY --secret x-account=file:account',
  ],
  run: async ({ args: [text], options }, io) => {
    const { vault, name } = parseCredentialName(credentialPut, text);
    const { kind, host: hosts } = options;
    if (!kind || !hosts) throw wrong(credentialPut, 'credential put needs --kind and at least one --host');
    if ((kind === 'headers' || kind === 'oauth') && !options.secret)
      throw wrong(credentialPut, `the parts of ${kind} are named: --secret PART=SOURCE`);
    const sources = planSources(options);
    const settings = readSettings(options);
    const api = await openApi(io);
    const body = { kind, hosts, ...settings, secret: await readSecrets(sources, io) };
    const at = path`/v1/vaults/${vault}/credentials/${name}`;
    showCredential(await api.call<CredentialAnswer>('PUT', at, body), options.json === true, io);
    return EXIT.done;
  },
});

/** Nothing is read here where egress reads the value. */
function planSources(options: Values<typeof OPTIONS>): readonly SecretSource[] {
  if (options['value-from'] === undefined) return planSecrets(options);
  if (options['from-file'] !== undefined || options['from-env'] !== undefined || options.secret) {
    throw wrong(
      credentialPut,
      '--from-file, --from-env and --secret store a value that is read here; with --value-from egress reads it',
    );
  }
  return [];
}

/** What was given, in the API's words. Which of it goes with a kind is core's to say. */
function readSettings(options: Values<typeof OPTIONS>): object {
  const settings = {
    user: options.user,
    variable: options.variable,
    placement: readPlacement(options),
    rules: readRules(options),
    valueFrom: options['value-from'],
    tokenUrl: options['token-url'],
    clientId: options['client-id'],
    grant: options.grant,
    clientAuth: options['client-auth'],
    scope: options.scope,
    audience: options.audience,
    resource: options.resource,
  };
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
}
