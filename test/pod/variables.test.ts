/** What a workload finds in its environment, and what of the shell's it does not. */
import { describe, expect, it } from 'vitest';
import { SENTINEL as CORE_SENTINEL } from '../../core-lite/vault/placement.ts';
import { makeVariables, SENTINEL, type VariableFacts } from '../../pod/variables.ts';

const FACTS: VariableFacts = {
  proxyUrl: 'http://sallyport:abc123@127.0.0.1:4321',
  javaProxy: { host: '127.0.0.1', port: 4323 },
  models: { url: 'http://127.0.0.1:4322', key: 'abc123' },
  files: {
    bundle: '/t/ca.pem',
    trustStore: '/t/trust.p12',
    wgetrc: '/t/wgetrc',
    wget2rc: '/t/wget2rc',
    aptConf: '/t/apt.conf',
    phpIni: '/t/php.d',
  },
  sentinels: ['GITHUB_TOKEN'],
  plain: { REGION: 'eu' },
};
const PROXY = 'http://sallyport:abc123@127.0.0.1:4321';
const LOOPBACK = 'localhost,127.0.0.1,::1';

describe('what is set', () => {
  it.each([
    ...['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy'].map((name) => [name, PROXY]),
    ...['YARN_HTTPS_PROXY', 'YARN_HTTP_PROXY'].map((name) => [name, PROXY]),
    ...['GLOBAL_AGENT_HTTPS_PROXY', 'GLOBAL_AGENT_HTTP_PROXY'].map((name) => [name, PROXY]),
    ...['NO_PROXY', 'no_proxy', 'GLOBAL_AGENT_NO_PROXY'].map((name) => [name, LOOPBACK]),
    ...['SSL_CERT_FILE', 'NODE_EXTRA_CA_CERTS', 'REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE'].map(bundle),
    ...['AWS_CA_BUNDLE', 'PIP_CERT', 'GIT_SSL_CAINFO', 'CARGO_HTTP_CAINFO', 'DENO_CERT'].map(bundle),
    ...['COMPOSER_CAFILE', 'BUNDLE_SSL_CA_CERT', 'NIX_SSL_CERT_FILE', 'CODEX_CA_CERTIFICATE'].map(bundle),
    ...['CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE', 'GRPC_DEFAULT_SSL_ROOTS_FILE_PATH'].map(bundle),
    ...['HTTPLIB2_CA_CERTS', 'WEBSOCKET_CLIENT_CA_BUNDLE', 'PERL_LWP_SSL_CA_FILE'].map(bundle),
    ...['npm_config_cafile', 'YARN_HTTPS_CA_FILE_PATH'].map(bundle),
    ['NODE_USE_ENV_PROXY', '1'],
    ['PERL_LWP_ENV_PROXY', '1'],
    ['WGETRC', '/t/wgetrc'],
    ['WGET2RC', '/t/wget2rc'],
    ['APT_CONFIG', '/t/apt.conf'],
    ['PHP_INI_SCAN_DIR', ':/t/php.d'],
    ['OPENAI_BASE_URL', 'http://127.0.0.1:4322/v1'],
    ['OPENAI_API_KEY', 'abc123'],
    ['ANTHROPIC_BASE_URL', 'http://127.0.0.1:4322'],
    ['ANTHROPIC_API_KEY', 'abc123'],
    ['GOOGLE_GEMINI_BASE_URL', 'http://127.0.0.1:4322'],
    ['GEMINI_API_KEY', 'abc123'],
    ['GITHUB_TOKEN', 'sallyport-managed'],
    ['REGION', 'eu'],
  ])('%s', (name, value) => {
    expect(makeVariables({}, FACTS)[name]).toBe(value);
  });

  it('is nothing that turns a check off or opens another way, and no second Anthropic credential', () => {
    const names = Object.keys(makeVariables({}, FACTS));
    for (const name of ['SSL_CERT_DIR', 'NODE_OPTIONS', 'ALL_PROXY', 'NODE_TLS_REJECT_UNAUTHORIZED']) {
      expect(names).not.toContain(name);
    }
    expect(names).not.toContain('ANTHROPIC_AUTH_TOKEN');
  });

  it('leaves the models out where there are none', () => {
    const names = Object.keys(makeVariables({}, { ...FACTS, models: null }));
    expect(names.filter((name) => /OPENAI|ANTHROPIC|GEMINI/.test(name))).toEqual([]);
  });

  it('has the sentinel that core has', () => {
    expect(SENTINEL).toBe(CORE_SENTINEL);
  });
});

describe('what is inherited', () => {
  it.each([
    ['PATH', true],
    ['HOME', true],
    ['AWS_PROFILE', true],
    ['ANTHROPIC_MODEL', true],
    ['npm_config_registry', true],
    ['SALLYPORT_ADMIN_KEY', false],
    ['SALLYPORT_HOME', false],
    ['DATABASE_URL', false],
    ['ALL_PROXY', false],
    ['all_proxy', false],
    ['Https_Proxy', false],
    ['ftp_proxy', false],
    ['npm_config_https_proxy', false],
    ['npm_config_noproxy', false],
    ['NPM_CONFIG_PROXY', false],
    ['PIP_PROXY', false],
    ['CARGO_HTTP_PROXY', false],
    ['NODE_TLS_REJECT_UNAUTHORIZED', false],
    ['GIT_SSL_NO_VERIFY', false],
    ['NPM_CONFIG_STRICT_SSL', false],
    ['NPM_CONFIG_CAFILE', false],
    ['OPENAI_ORG_ID', false],
    ['OPENAI_API_BASE', false],
    ['ANTHROPIC_AUTH_TOKEN', false],
    ['ANTHROPIC_CUSTOM_HEADERS', false],
    ['CLAUDE_CODE_OAUTH_TOKEN', false],
    ['CLAUDE_CODE_USE_BEDROCK', false],
    ['GOOGLE_API_KEY', false],
    ['GOOGLE_GENERATIVE_AI_API_KEY', false],
    ['GOOGLE_GENAI_USE_VERTEXAI', false],
    ['GOOGLE_VERTEX_BASE_URL', false],
    ['GEMINI_API_KEY_AUTH_MECHANISM', false],
    ['GOOGLE_CLOUD_PROJECT', true],
    ['GEMINI_MODEL', true],
    // Another name for GITHUB_TOKEN, which is the environment's here.
    ['GH_TOKEN', false],
    ['HF_TOKEN', true],
  ])('%s: %s', (name, kept) => {
    expect(makeVariables({ [name]: 'from the shell' }, FACTS)[name] === 'from the shell').toBe(kept);
  });

  it('gives way to everything that is set', () => {
    const set = makeVariables({}, FACTS);
    const shell = Object.fromEntries(Object.keys(set).map((name) => [name, 'from the shell']));
    const both = makeVariables(shell, FACTS);
    const left = Object.keys(both).filter((name) => both[name] === 'from the shell');
    expect(left).toEqual([]);
  });

  it('keeps PHP’s folders in front', () => {
    expect(makeVariables({ PHP_INI_SCAN_DIR: '/etc/php' }, FACTS)['PHP_INI_SCAN_DIR']).toBe(
      '/etc/php:/t/php.d',
    );
  });
});

describe('what the operator declared', () => {
  it.each([
    ['a secret', { sentinels: ['OPENAI_API_KEY'] }, 'sallyport-managed'],
    ['a plain variable', { plain: { OPENAI_API_KEY: 'mine' } }, 'mine'],
  ])('%s in the place of a model key takes the pair of base URL and key', (_name, declared, value) => {
    const variables = makeVariables({ OPENAI_BASE_URL: 'http://shell' }, { ...FACTS, ...declared });
    expect(variables['OPENAI_API_KEY']).toBe(value);
    expect(variables['OPENAI_BASE_URL']).toBeUndefined();
    expect(variables['ANTHROPIC_API_KEY']).toBe('abc123');
  });

  it('a Google key under its other name takes the pair too', () => {
    const variables = makeVariables({}, { ...FACTS, sentinels: ['GOOGLE_API_KEY'] });
    expect(variables['GOOGLE_API_KEY']).toBe('sallyport-managed');
    expect([variables['GEMINI_API_KEY'], variables['GOOGLE_GEMINI_BASE_URL']]).toEqual([
      undefined,
      undefined,
    ]);
  });

  it('does not lead past the relay', () => {
    const plain = { HTTPS_PROXY: 'http://elsewhere', SSL_CERT_FILE: '/elsewhere' };
    const variables = makeVariables({}, { ...FACTS, plain });
    expect([variables['HTTPS_PROXY'], variables['SSL_CERT_FILE']]).toEqual([PROXY, '/t/ca.pem']);
  });
});

function bundle(name: string): [string, string] {
  return [name, '/t/ca.pem'];
}
