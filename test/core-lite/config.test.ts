import { describe, expect, it } from 'vitest';
import { childEnvironment, describeConfig, readConfig } from '../../core-lite/config.ts';
import { isFault } from '../../core-lite/errors.ts';
import { Secret } from '../../core-lite/secret.ts';

/** Every setting: [name, a value, the key of the config, what is expected there]. */
const SETTINGS: readonly (readonly [name: string, text: string, key: string, value: unknown])[] = [
  ['DATABASE_URL', 'postgres://u:p@h/d', 'databaseUrl', 'postgres://u:p@h/d'],
  ['SALLYPORT_DATABASE_LISTEN_URL', 'postgresql://h/d', 'databaseListenUrl', 'postgresql://h/d'],
  ['SALLYPORT_DATABASE_CONNECTIONS', '25', 'databaseConnections', 25],
  ['SALLYPORT_HOME', '/var/lib/x', 'home', '/var/lib/x'],
  ['SALLYPORT_MASTER_KEY', 'k1', 'masterKey', 'k1'],
  ['SALLYPORT_MASTER_KEY_FILE', '/k', 'masterKeyFile', '/k'],
  ['SALLYPORT_MASTER_KEY_PREVIOUS', 'k0', 'masterKeyPrevious', 'k0'],
  ['SALLYPORT_MASTER_KEY_PREVIOUS_FILE', '/k0', 'masterKeyPreviousFile', '/k0'],
  ['SALLYPORT_CLASS_KEY_FILE', '/c', 'classKeyFile', '/c'],
  ['SALLYPORT_CORE_LISTEN', '[::1]:1', 'coreListen', { host: '::1', port: 1 }],
  ['SALLYPORT_CORE_OBSERVE_LISTEN', 'localhost:2', 'coreObserveListen', { host: 'localhost', port: 2 }],
  ['SALLYPORT_EGRESS_LISTEN', '0.0.0.0:0', 'egressListen', { host: '0.0.0.0', port: 0 }],
  ['SALLYPORT_EGRESS_TLS_LISTEN', '0.0.0.0:0', 'egressTlsListen', { host: '0.0.0.0', port: 0 }],
  ['SALLYPORT_EGRESS_TLS_NAMES', 'a.test, 10.0.0.1,::1', 'egressTlsNames', ['a.test', '10.0.0.1', '::1']],
  ['SALLYPORT_EGRESS_TLS_CERT', '/tls.pem', 'egressTlsCert', '/tls.pem'],
  ['SALLYPORT_EGRESS_TLS_KEY', '/tls.key', 'egressTlsKey', '/tls.key'],
  [
    'SALLYPORT_EGRESS_OBSERVE_LISTEN',
    '127.0.0.1:65535',
    'egressObserveListen',
    { host: '127.0.0.1', port: 65_535 },
  ],
  ['SALLYPORT_GATES_LISTEN', '0.0.0.0:4100', 'gatesListen', { host: '0.0.0.0', port: 4100 }],
  ['SALLYPORT_GATES_OBSERVE_LISTEN', '[::1]:9', 'gatesObserveListen', { host: '::1', port: 9 }],
  ['SALLYPORT_GATES_HOSTS', 'gates.example', 'gatesHosts', ['gates.example']],
  [
    'SALLYPORT_PARENT_PROXY',
    'socks5h://Proxy.example:1080',
    'parentProxy',
    { scheme: 'socks5', host: 'proxy.example', port: 1080, login: null },
  ],
  ['SALLYPORT_EXTRA_CA', '/roots.pem', 'extraCa', '/roots.pem'],
  ['SALLYPORT_DNS_SERVERS', '10.0.0.1, 10.0.0.2:53', 'dnsServers', ['10.0.0.1', '10.0.0.2:53']],
  ['SALLYPORT_HOSTS_FILE', '/etc/hosts', 'hostsFile', '/etc/hosts'],
  [
    'SALLYPORT_OPEN_NETWORKS',
    'a.example=10.0.0.0/8',
    'openNetworks',
    [expect.objectContaining({ network: expect.anything() })],
  ],
  [
    'SALLYPORT_NAT64_PREFIXES',
    '64:ff9b::/96',
    'nat64Prefixes',
    [expect.objectContaining({ network: expect.anything() })],
  ],
  ['SALLYPORT_SECRET_FOLDER', '/run/secrets', 'secretFolder', '/run/secrets'],
  ['SALLYPORT_SECRET_VARIABLES', 'A_TOKEN, B', 'secretVariables', ['A_TOKEN', 'B']],
  ['SALLYPORT_FEED_GRACE', '45s', 'feedGrace', 45_000],
  ['SALLYPORT_TUNNEL_IDLE', '3m', 'tunnelIdle', 180_000],
  ['SALLYPORT_STREAM_IDLE', '2m', 'streamIdle', 120_000],
  ['SALLYPORT_DRAIN', '750ms', 'drain', 750],
  ['SALLYPORT_LOG_LEVEL', 'debug', 'logLevel', 'debug'],
  ['SALLYPORT_CORE_URL', 'https://core.example', 'coreUrl', 'https://core.example'],
  ['SALLYPORT_ADMIN_KEY', 'sak_x', 'adminKey', 'sak_x'],
  ['SALLYPORT_ADMIN_KEY_FILE', '/a', 'adminKeyFile', '/a'],
];

/** What a setting cannot be without. */
const TOGETHER: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  SALLYPORT_EGRESS_TLS_CERT: { SALLYPORT_EGRESS_TLS_KEY: '/tls.key' },
  SALLYPORT_EGRESS_TLS_KEY: { SALLYPORT_EGRESS_TLS_CERT: '/tls.pem' },
};

describe('every setting', () => {
  it('is in this table', () => {
    expect(
      describeConfig({})
        .map((row) => row.name)
        .sort(),
    ).toEqual(SETTINGS.map(([name]) => name).sort());
  });

  it.each(SETTINGS)('%s=%s', (name, text, key, value) => {
    const given = { ...TOGETHER[name], [name]: text };
    const read: unknown = (readConfig(given) as Record<string, unknown>)[key];
    expect(read instanceof Secret ? read.reveal() : read).toEqual(value);
  });

  it('has a line of help and a type, and its default parses', () => {
    for (const row of describeConfig({})) {
      expect(row.help).toMatch(/^[^\n]{8,140}$/);
      expect(row.type).not.toBe('');
    }
    expect(readConfig({})).toMatchObject({
      coreListen: { host: '127.0.0.1', port: 4000 },
      egressListen: { host: '127.0.0.1', port: 4200 },
      feedGrace: 30_000,
      openNetworks: [],
    });
  });

  it('that is empty is unset', () => {
    const empty = Object.fromEntries(SETTINGS.map(([name]) => [name, '']));
    expect(readConfig(empty)).toEqual(readConfig({}));
  });

  it('that is secret is masked wherever it is shown', () => {
    const given = Object.fromEntries(SETTINGS.map(([name]) => [name, `postgres://u:canary-1@h/${name}`]));
    const rows = describeConfig(given);
    const masked = rows.filter((row) => row.value === '[secret]').map((row) => row.name);
    expect(masked).toEqual([
      'DATABASE_URL',
      'SALLYPORT_DATABASE_LISTEN_URL',
      'SALLYPORT_MASTER_KEY',
      'SALLYPORT_MASTER_KEY_PREVIOUS',
      'SALLYPORT_PARENT_PROXY',
      'SALLYPORT_ADMIN_KEY',
    ]);
    const config = readConfig({
      DATABASE_URL: 'postgres://u:canary-1@h/d',
      SALLYPORT_MASTER_KEY: 'canary-2',
    });
    expect(JSON.stringify(config)).not.toMatch(/canary/);
  });
});

describe('durations', () => {
  it.each([
    ['0s', 0],
    ['1ms', 1],
    ['500ms', 500],
    ['30s', 30_000],
    ['5m', 300_000],
    ['2h', 7_200_000],
    ['576h', 2_073_600_000],
  ])('%s', (text, ms) => expect(readConfig({ SALLYPORT_DRAIN: text }).drain).toBe(ms));

  // The last two are longer than a timer of Node can wait: it would fire at once.
  it.each([
    '5',
    '-5s',
    '1.5s',
    '5 s',
    '5S',
    's',
    '5d',
    '5s ',
    '+5s',
    '1e3s',
    '٥s',
    '1234567s',
    '999999h',
    '597h',
  ])('%j is refused', (text) => expect(faultsOf({ SALLYPORT_DRAIN: text })).toContain('SALLYPORT_DRAIN'));
});

describe('listen addresses', () => {
  it.each([
    ['127.0.0.1:4000', { host: '127.0.0.1', port: 4000 }],
    ['[::]:80', { host: '::', port: 80 }],
    ['[::ffff:127.0.0.1]:80', { host: '::ffff:127.0.0.1', port: 80 }],
    ['core.internal:0', { host: 'core.internal', port: 0 }],
  ])('%s', (text, value) => expect(readConfig({ SALLYPORT_CORE_LISTEN: text }).coreListen).toEqual(value));

  it.each([
    '4000',
    ':4000',
    '127.0.0.1',
    '127.0.0.1:',
    'h:65536',
    'h:99999999',
    '::1:80',
    '[::1]',
    '[::1:80',
    'a b:80',
    'h:-1',
    'h:8a',
  ])('%j is refused', (text) =>
    expect(faultsOf({ SALLYPORT_CORE_LISTEN: text })).toContain('SALLYPORT_CORE_LISTEN is not host:port'),
  );
});

describe('faults', () => {
  it.each([
    ['DATABASE_URL', 'mysql://h/d'],
    ['DATABASE_URL', 'h:5432/d'],
    ['DATABASE_URL', 'postgres://u:%zz@h/d'],
    ['SALLYPORT_DATABASE_CONNECTIONS', '0'],
    ['SALLYPORT_DATABASE_CONNECTIONS', '1.5'],
    ['SALLYPORT_DATABASE_CONNECTIONS', '-3'],
    ['SALLYPORT_DATABASE_CONNECTIONS', '1e3'],
    ['SALLYPORT_OPEN_NETWORKS', 'a.example'],
    ['SALLYPORT_OPEN_NETWORKS', 'a.example=0.0.0.0/0'],
    ['SALLYPORT_NAT64_PREFIXES', '10.0.0.0/8'],
    ['SALLYPORT_SECRET_VARIABLES', 'A-B'],
    ['SALLYPORT_SECRET_VARIABLES', 'A,SALLYPORT_MASTER_KEY'],
    ['SALLYPORT_SECRET_VARIABLES', 'DATABASE_URL'],
    ['SALLYPORT_LOG_LEVEL', 'trace'],
    ['SALLYPORT_LOG_LEVEL', 'INFO'],
    ['SALLYPORT_CORE_URL', 'ftp://h'],
    ['SALLYPORT_CORE_URL', 'h:4000'],
  ])('%s=%s', (name, text) => expect(faultsOf({ [name]: text })).toContain(name));

  it('are all reported at once, without the values of secrets', () => {
    const message = faultsOf({
      DATABASE_URL: 'mysql://u:canary@h',
      SALLYPORT_CORE_LISTEN: 'nowhere',
      SALLYPORT_DRAIN: 'soon',
      SALLYPORT_EGRES_LISTEN: '127.0.0.1:1',
      SALLYPORT_ADMIN_KEY: 'canary',
      SALLYPORT_ADMIN_KEY_FILE: '/a',
    });
    for (const part of [
      'DATABASE_URL',
      'CORE_LISTEN',
      'DRAIN',
      'did you mean SALLYPORT_EGRESS_LISTEN?',
      'are both set',
    ]) {
      expect(message).toContain(part);
    }
    expect(message).not.toMatch(/canary|\n/);
  });

  it.each(['SALLYPORT_MASTER_KEY', 'SALLYPORT_MASTER_KEY_PREVIOUS', 'SALLYPORT_ADMIN_KEY'])(
    '%s beside its _FILE',
    (name) => {
      expect(faultsOf({ [name]: 'x', [`${name}_FILE`]: '/x' })).toContain(
        `${name} and ${name}_FILE are both set`,
      );
    },
  );

  it.each([
    { SALLYPORT_EGRESS_TLS_CERT: '/tls.pem' },
    { SALLYPORT_EGRESS_TLS_KEY: '/tls.key' },
    { SALLYPORT_EGRESS_TLS_KEY: '/tls.key', SALLYPORT_EGRESS_TLS_CERT: '' },
  ])('half of a certificate: %j', (given) => {
    expect(faultsOf(given)).toContain('SALLYPORT_EGRESS_TLS_CERT and SALLYPORT_EGRESS_TLS_KEY go together');
  });

  it.each([
    ['SALLYPORT_OPENNETWORKS', 'did you mean SALLYPORT_OPEN_NETWORKS?'],
    ['SALLYPORT_MASTERKEY', 'did you mean SALLYPORT_MASTER_KEY?'],
    ['SALLYPORT_FEED_GRCE', 'did you mean SALLYPORT_FEED_GRACE?'],
    ['SALLYPORT_', 'is not a setting'],
    ['SALLYPORT_SOMETHING_ELSE_ALTOGETHER', 'is not a setting'],
  ])('%s is no setting', (name, text) => expect(faultsOf({ [name]: 'x' })).toContain(text));

  it('leave what is not ours alone', () => {
    expect(() => readConfig({ PATH: '/bin', sallyport_home: 'x', MY_SALLYPORT_X: 'y' })).not.toThrow();
  });
});

it('gives a child this environment with changes', () => {
  expect(childEnvironment({ SALLYPORT_HOME: '/x' })).toMatchObject({
    PATH: process.env['PATH'],
    SALLYPORT_HOME: '/x',
  });
});

function faultsOf(variables: NodeJS.ProcessEnv): string {
  try {
    readConfig(variables);
  } catch (error) {
    if (isFault(error, 'config_invalid')) return error.message;
    throw error;
  }
  return 'no fault';
}
