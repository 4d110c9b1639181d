/**
 * The environment of the workload: where its clients find the relay, what they trust, and the sentinels that stand
 * where secrets would. Pure. No token and no secret of the vault ever comes here; the only credential among the values
 * is the run's own, which opens the relay and nothing else.
 */

import type { Address } from './forward.ts';
import { javaOptions } from './java-options.ts';

/** Names and values as a process has them. */
export type Variables = Readonly<Record<string, string | undefined>>;

export interface VariableFacts {
  /** What clients are told to use as their proxy, with a user and a password where it asks for them. */
  readonly proxyUrl: string;
  /** Where Java finds it, which can show no password; `null` where there is no such place. */
  readonly javaProxy: Address | null;
  /** Where models are called, if they are. */
  readonly models: { readonly url: string; readonly key: string } | null;
  readonly files: FilePaths;
  /** Variables that stand for environment secrets. */
  readonly sentinels: readonly string[];
  /** The environment's plain variables. */
  readonly plain: Readonly<Record<string, string>>;
}

/** Absolute paths of what clients read instead of a variable's text. */
export interface FilePaths {
  /** PEM: public roots and the egress CA. */
  readonly bundle: string;
  /** PKCS#12: the same certificates. */
  readonly trustStore: string;
  readonly wgetrc: string;
  readonly wget2rc: string;
  readonly aptConf: string;
  /** A folder of ini files. */
  readonly phpIni: string;
}

/**
 * Everything that the workload gets. Whoever is named later wins: what is inherited, the pairs of base URL and key, what
 * the operator declared for the environment, and last what leads to the relay: that is not the environment's to change.
 * @param inherited the environment of whoever starts the run
 */
export function makeVariables(inherited: Variables, facts: VariableFacts): Record<string, string> {
  const { sentinels, plain, files } = facts;
  const declared = { ...plain, ...Object.fromEntries(sentinels.map((name) => [name, SENTINEL])) };
  return {
    ...keepInherited(inherited, declared),
    ...modelVariables(facts, declared),
    ...declared,
    ...proxyVariables(facts),
    ...trustVariables(files, inherited),
    JAVA_TOOL_OPTIONS: javaOptions(facts.javaProxy, files.trustStore, inherited['JAVA_TOOL_OPTIONS']),
  };
}

/** The inherited ones but those that would lead past the relay, or hold what the run must not have. */
function keepInherited(inherited: Variables, declared: Variables): Record<string, string> {
  const shadows = ALIASES.filter((names) => names.some((name) => Object.hasOwn(declared, name))).flat();
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(inherited)) {
    if (value === undefined || TAKEN_AWAY.some(({ names }) => names.test(name))) continue;
    if (!shadows.includes(name)) kept[name] = value;
  }
  return kept;
}

/**
 * The base URL and the key of each dialect. A pair stands back as a whole where the operator declared one of its
 * variables: a secret bound to the provider's own host goes there through egress, not to the gates.
 */
function modelVariables({ models }: VariableFacts, declared: Variables): Record<string, string> {
  if (models === null) return {};
  const { url, key } = models;
  const pairs: readonly Record<string, string>[] = [
    { OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: key },
    // Not ANTHROPIC_AUTH_TOKEN too: with both, the SDK sends two credentials and Claude Code warns of a conflict.
    { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: key },
    { GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: key },
  ];
  const free = pairs.filter((pair) => !Object.keys(pair).some((name) => isDeclared(name, declared)));
  return Object.assign({}, ...free);
}

/** Under this name, or another that a client reads in its place. */
function isDeclared(name: string, declared: Variables): boolean {
  const names = ALIASES.find((each) => each.includes(name)) ?? [name];
  return names.some((each) => Object.hasOwn(declared, each));
}

/** Both cases: wget, apt, aria2c, gRPC and Perl read only the lower one, others only the upper. */
function proxyVariables({ proxyUrl: proxy }: VariableFacts): Record<string, string> {
  return {
    HTTPS_PROXY: proxy,
    https_proxy: proxy,
    HTTP_PROXY: proxy,
    http_proxy: proxy,
    NO_PROXY: LOOPBACK.join(','),
    no_proxy: LOOPBACK.join(','),
    // Node 22.21 and 24.5 on; Perl's LWP; yarn 4, which reads no HTTPS_PROXY; programs with global-agent.
    NODE_USE_ENV_PROXY: '1',
    PERL_LWP_ENV_PROXY: '1',
    YARN_HTTPS_PROXY: proxy,
    YARN_HTTP_PROXY: proxy,
    GLOBAL_AGENT_HTTPS_PROXY: proxy,
    GLOBAL_AGENT_HTTP_PROXY: proxy,
    GLOBAL_AGENT_NO_PROXY: LOOPBACK.join(','),
  };
}

function trustVariables(files: FilePaths, inherited: Variables): Record<string, string> {
  return {
    ...Object.fromEntries(BUNDLE_VARIABLES.map((name) => [name, files.bundle])),
    WGETRC: files.wgetrc,
    WGET2RC: files.wget2rc,
    APT_CONFIG: files.aptConf,
    // What stands before the colon, or PHP's own folder where nothing does, is read first.
    PHP_INI_SCAN_DIR: `${inherited['PHP_INI_SCAN_DIR'] ?? ''}:${files.phpIni}`,
  };
}

/** What stands in the workload where a secret would; the same word as core's. */
export const SENTINEL = 'sallyport-managed';
/** What is asked without a proxy. */
const LOOPBACK = ['localhost', '127.0.0.1', '::1'];

/** One name each, all for the one bundle: there is no variable that every client reads. */
const BUNDLE_VARIABLES = [
  'SSL_CERT_FILE', // OpenSSL, Go, Ruby, Perl, Python's ssl, httpx, curl, cargo, codex
  'NODE_EXTRA_CA_CERTS', // Node, npm, pnpm, bun, Claude Code
  'REQUESTS_CA_BUNDLE', // Python's requests, which reads no SSL_CERT_FILE
  'CURL_CA_BUNDLE',
  'AWS_CA_BUNDLE',
  'PIP_CERT',
  'GIT_SSL_CAINFO',
  'CARGO_HTTP_CAINFO',
  'DENO_CERT',
  'COMPOSER_CAFILE',
  'BUNDLE_SSL_CA_CERT',
  'NIX_SSL_CERT_FILE',
  'CODEX_CA_CERTIFICATE',
  'CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE',
  'GRPC_DEFAULT_SSL_ROOTS_FILE_PATH',
  'HTTPLIB2_CA_CERTS',
  'WEBSOCKET_CLIENT_CA_BUNDLE',
  'PERL_LWP_SSL_CA_FILE',
  'npm_config_cafile', // wins over a `cafile` in an npmrc, which beats NODE_EXTRA_CA_CERTS
  'YARN_HTTPS_CA_FILE_PATH',
];

/** What is not inherited, and why. */
const TAKEN_AWAY: readonly { readonly names: RegExp; readonly why: string }[] = [
  {
    names: /^(SALLYPORT_.*|DATABASE_URL)$/,
    why: 'the operator’s: the admin key, the master key, the database',
  },
  {
    names: /^((https?|no|all|ftp|socks|rsync)_proxy|npm_config_(https?_?proxy|proxy|no_?proxy))$/i,
    why: 'a second way out, or an exception that leads past the relay, in every spelling that some client reads',
  },
  {
    names: /^(PIP_PROXY|CARGO_HTTP_PROXY|BUNDLE_HTTPS?_PROXY|GIT_PROXY_COMMAND|CLOUDSDK_PROXY_.*)$/,
    why: 'a client’s own proxy setting comes before HTTPS_PROXY',
  },
  {
    names: /^(NODE_TLS_REJECT_UNAUTHORIZED|GIT_SSL_NO_VERIFY|PYTHONHTTPSVERIFY|npm_config_strict_ssl)$/i,
    why: 'what works only without verification would not work in a pod',
  },
  {
    names: /^npm_config_(ca|cafile)$/i,
    why: 'npm reads its settings in any case, and the last one counts',
  },
  {
    names: /^OPENAI_(API_KEY|ADMIN_KEY|BASE_URL|API_BASE|ORG_ID|ORGANIZATION|PROJECT_ID)$/,
    why: 'the key in the shell, and what belongs to its account',
  },
  {
    names:
      /^(ANTHROPIC_(API_KEY|AUTH_TOKEN|BASE_URL|CUSTOM_HEADERS)|CLAUDE_CODE_(OAUTH_TOKEN|USE_.*)|CODEX_API_KEY)$/,
    why: 'they come before the managed key, or lead to another provider with the one in the shell',
  },
  {
    names:
      /^(GEMINI_API_KEY(_AUTH_MECHANISM)?|GEMINI_CLI_CUSTOM_HEADERS|GOOGLE_(API_KEY|GENERATIVE_AI_API_KEY|(GEMINI|VERTEX)_BASE_URL|GENAI_USE_.*))$/,
    why: 'Google’s: GOOGLE_API_KEY comes before GEMINI_API_KEY; the others lead to Vertex AI or change how the key is sent',
  },
];

/** Names for one thing, of which clients take the first: where one is declared, an inherited other would win. */
const ALIASES: readonly (readonly string[])[] = [
  ['GH_TOKEN', 'GITHUB_TOKEN'],
  ['HF_TOKEN', 'HUGGING_FACE_HUB_TOKEN'],
  ['NODE_AUTH_TOKEN', 'NPM_TOKEN'],
  ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
];
