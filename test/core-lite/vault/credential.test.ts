import { describe, expect, it } from 'vitest';
import { Secret } from '../../../core-lite/secret.ts';
import {
  CREDENTIAL_KINDS,
  type Credential,
  type CredentialInput,
  parseCredential,
  unpackSecret,
} from '../../../core-lite/vault/credential.ts';

const LONG = 'a-long-enough-secret';
const hosts = ['api.example'];
const value = { value: new Secret(LONG) };
const bearer: CredentialInput = { kind: 'bearer', hosts, secret: value };
const bound: CredentialInput = { kind: 'environment_secret', hosts, variable: 'API_TOKEN', secret: value };
const variable: CredentialInput = { kind: 'environment_variable', hosts, variable: 'MODE', secret: value };
const headers: CredentialInput = { kind: 'headers', hosts, secret: { 'X-Key': new Secret(LONG) } };
const oauth: CredentialInput = {
  kind: 'oauth',
  hosts,
  tokenUrl: 'https://login.example/token',
  clientId: 'client-1',
  grant: 'client_credentials',
  secret: { client_secret: new Secret(LONG) },
};

describe('every kind is taken', () => {
  it.each<[name: string, input: CredentialInput, settings: object]>([
    ['model_key', { ...bearer, kind: 'model_key' }, {}],
    ['bearer', bearer, {}],
    ['one person’s', { ...bearer, user: 'ada@example' }, {}],
    ['headers', headers, { headers: ['X-Key'] }],
    [
      'many headers',
      { ...headers, secret: { 'x-a': new Secret(LONG), 'x-b': new Secret(LONG) } },
      { headers: ['x-a', 'x-b'] },
    ],
    [
      'oauth',
      oauth,
      { tokenUrl: 'https://login.example/token', clientId: 'client-1', grant: 'client_credentials' },
    ],
    [
      'oauth with a refresh token',
      { ...oauth, grant: 'refresh_token', secret: { ...oauth.secret, refresh_token: new Secret(LONG) } },
      { tokenUrl: 'https://login.example/token', clientId: 'client-1', grant: 'refresh_token' },
    ],
    [
      'oauth with every wish, its client shown in the form',
      { ...oauth, ...WISHES },
      {
        tokenUrl: 'https://login.example/token',
        clientId: 'client-1',
        grant: 'client_credentials',
        ...WISHES,
      },
    ],
    [
      'oauth with a variable, put on requests',
      { ...oauth, variable: 'GH_TOKEN', rules: { methods: ['GET'] } },
      {
        tokenUrl: 'https://login.example/token',
        clientId: 'client-1',
        grant: 'client_credentials',
        variable: 'GH_TOKEN',
        placement: { kind: 'header', header: 'authorization', format: 'Bearer {}' },
        rules: { paths: [], methods: ['GET'] },
      },
    ],
    [
      'environment_secret',
      bound,
      { variable: 'API_TOKEN', placement: { kind: 'header', header: 'authorization', format: 'Bearer {}' } },
    ],
    [
      'environment_secret in a header of its own',
      { ...bound, placement: { header: 'X-Api-Key', format: '{}' } },
      { variable: 'API_TOKEN', placement: { kind: 'header', header: 'x-api-key', format: '{}' } },
    ],
    ['environment_variable', variable, { variable: 'MODE' }],
    ['a short variable', { ...variable, secret: { value: new Secret('1') } }, { variable: 'MODE' }],
    ['an empty variable', { ...variable, secret: { value: new Secret('') } }, { variable: 'MODE' }],
    ['a variable of lines', { ...variable, secret: { value: new Secret('a\nb\tü') } }, { variable: 'MODE' }],
  ])('%s', (_, input, settings) => {
    const credential = parseCredential(input);
    expect(credential).toMatchObject({ kind: input.kind, hosts: ['api.example'], user: input.user ?? null });
    expect(credential.settings).toEqual(settings);
    expect(JSON.stringify(credential)).not.toContain(LONG);
    expect(opened(credential)).toEqual(opened(input));
  });

  it('and the table above has them all', () => {
    expect(CREDENTIAL_KINDS).toEqual([
      'model_key',
      'bearer',
      'headers',
      'oauth',
      'environment_secret',
      'environment_variable',
    ]);
  });

  it.each([['*.api.example'], ['api.example:8443'], ['*.api.example:8443']])('host %s', (host) =>
    expect(parseCredential({ ...bearer, hosts: [host] }).hosts).toEqual([host]),
  );
});

const WISHES = {
  clientAuth: 'client_secret_post',
  scope: 'read write',
  audience: 'https://api.example',
  resource: 'https://api.example/v1',
} as const;

describe('what is refused', () => {
  it.each<[name: string, input: CredentialInput]>([
    ['no hosts', { ...bearer, hosts: [] }],
    ['a host that is every host', { ...bearer, hosts: ['*'] }],
    ['a host in capitals', { ...bearer, hosts: ['API.example'] }],
    ['a URL as host', { ...bearer, hosts: ['https://api.example'] }],
    ['an address as host', { ...bearer, hosts: ['127.0.0.1'] }],
    ['one wrong host of many', { ...bearer, hosts: ['api.example', ''] }],
    ['no secret', { ...bearer, secret: {} }],
    ['another secret part', { ...bearer, secret: { ...value, more: new Secret(LONG) } }],
    ['a secret part of another name', { ...bearer, secret: { token: new Secret(LONG) } }],
    [
      'a secret part named as a field of every object',
      { ...bearer, secret: { ...value, constructor: new Secret(LONG) } },
    ],
    ['a short secret', { ...bearer, secret: { value: new Secret('1234567') } }],
    ['a secret that is empty', { ...bearer, secret: { value: new Secret('') } }],
    ['a secret that is long', { ...bearer, secret: { value: new Secret('x'.repeat(16_385)) } }],
    ['the sentinel', { ...bearer, secret: { value: new Secret('sallyport-managed') } }],
    ['the sentinel as a variable', { ...variable, secret: { value: new Secret('sallyport-managed') } }],
    ['a line end', { ...bearer, secret: { value: new Secret(`${LONG}\n`) } }],
    ['a carriage return inside', { ...bearer, secret: { value: new Secret(`${LONG}\r\nx-evil: 1`) } }],
    ['a NUL', { ...bearer, secret: { value: new Secret(`${LONG}\0`) } }],
    ['a space at its end', { ...bearer, secret: { value: new Secret(`${LONG} `) } }],
    ['a space at its beginning', { ...bearer, secret: { value: new Secret(` ${LONG}`) } }],
    ['what is not ASCII', { ...bearer, secret: { value: new Secret('geheimes-gehäuse') } }],
    ['a NUL in a variable', { ...variable, secret: { value: new Secret('a\0b') } }],
    ['a variable on a bearer', { ...bearer, variable: 'X' }],
    ['a placement on a bearer', { ...bearer, placement: { header: 'x', format: '{}' } }],
    ['an OAuth field on a bearer', { ...bearer, tokenUrl: 'https://x.example' }],
    ['a grant on a variable', { ...variable, grant: 'refresh_token' }],
    ['a placement on a variable', { ...variable, placement: { header: 'x', format: '{}' } }],
    ['no headers', { ...headers, secret: {} }],
    ['a header with a colon', { ...headers, secret: { 'x:': new Secret(LONG) } }],
    ['a header with a line end', { ...headers, secret: { 'x\r\n': new Secret(LONG) } }],
    ['a header without a name', { ...headers, secret: { '': new Secret(LONG) } }],
    ['a header twice', { ...headers, secret: { 'x-key': new Secret(LONG), 'X-Key': new Secret(LONG) } }],
    ['a header of the connection', { ...headers, secret: { Host: new Secret(LONG) } }],
    ['a header that frames', { ...headers, secret: { 'Transfer-Encoding': new Secret(LONG) } }],
    ['a secret without a variable', { kind: 'environment_secret', hosts, secret: value }],
    ['a variable without a name', { kind: 'environment_variable', hosts, secret: value }],
    ['a variable that begins with a digit', { ...bound, variable: '1A' }],
    ['a variable with =', { ...bound, variable: 'A=B' }],
    ['a variable with a line end', { ...bound, variable: 'A\n' }],
    ['a variable that is empty', { ...bound, variable: '' }],
    ['a variable that is not ASCII', { ...bound, variable: 'Ä' }],
    ...[
      'Host',
      'content-length',
      'Transfer-Encoding',
      'connection',
      'Proxy-Authorization',
      'TE',
      'Upgrade',
      'Expect',
      'Trailer',
      'keep-alive',
      'proxy-connection',
    ].map((header): [string, CredentialInput] => [
      `placed in ${header}`,
      { ...bound, placement: { header, format: '{}' } },
    ]),
    ['placed in no header', { ...bound, placement: { header: '', format: '{}' } }],
    ['placed in two', { ...bound, placement: { header: 'a, b', format: '{}' } }],
    ['placed in a pseudo-header', { ...bound, placement: { header: ':path', format: '{}' } }],
    ['a format without a place', { ...bound, placement: { header: 'x', format: 'Bearer' } }],
    ['a format with two', { ...bound, placement: { header: 'x', format: '{}{}' } }],
    ['a format with a line end', { ...bound, placement: { header: 'x', format: '{}\r\nx: y' } }],
    ['a format that begins with a space', { ...bound, placement: { header: 'x', format: ' {}' } }],
    ['OAuth without a URL', { ...without(oauth, 'tokenUrl') }],
    ['OAuth over plaintext', { ...oauth, tokenUrl: 'http://login.example/token' }],
    ['OAuth at what is no URL', { ...oauth, tokenUrl: 'login.example' }],
    ['OAuth with a password in its URL', { ...oauth, tokenUrl: 'https://user:pass@login.example/token' }],
    ['OAuth without a client', { ...without(oauth, 'clientId') }],
    ['OAuth without a grant', { ...without(oauth, 'grant') }],
    ['OAuth without its secret', { ...oauth, secret: {} }],
    ['OAuth at an address', { ...oauth, tokenUrl: 'https://127.0.0.1/token' }],
    ['OAuth at a place in a page', { ...oauth, tokenUrl: 'https://login.example/token#x' }],
    ['OAuth for nothing', { ...oauth, scope: '' }],
    ['OAuth for a line end', { ...oauth, audience: 'a\r\nb' }],
    ['OAuth with a placement and no variable', { ...oauth, placement: { header: 'x-key', format: '{}' } }],
    ['OAuth with rules and no variable', { ...oauth, rules: { methods: ['GET'] } }],
    ['a scope of a bearer', { ...bearer, scope: 'read' }],
    ['a refresh grant without its token', { ...oauth, grant: 'refresh_token' }],
  ])('%s', (_, input) => {
    const fault = thrownBy(() => parseCredential(input));
    expect(fault).toMatchObject({ name: 'Fault', code: 'input_invalid' });
    for (const part of Object.values(input.secret)) {
      const text = part.reveal().trim();
      if (text.length >= 7 && text !== 'sallyport-managed') expect(String(fault)).not.toContain(text);
    }
  });
});

function opened(of: Credential | CredentialInput): Record<string, string> {
  const parts = of.secret instanceof Secret ? unpackSecret(of.secret) : (of.secret ?? {});
  return Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, part.reveal()]));
}

function without(input: CredentialInput, name: keyof CredentialInput): CredentialInput {
  const { [name]: _, ...rest } = input;
  // One optional field less: still an input.
  return rest as CredentialInput;
}

function thrownBy(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  return 'nothing was thrown';
}
