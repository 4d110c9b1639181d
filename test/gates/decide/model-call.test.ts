/** The decision on a model call, as a table: one row for each reason, the first rule that speaks wins. */
import { describe, expect, it } from 'vitest';
import { Deny } from '../../../core-lite/decision.ts';
import { parseHostPatterns } from '../../../core-lite/network/policy.ts';
import { parseUpstreamUrl, type UpstreamUrl } from '../../../core-lite/network/upstream-url.ts';
import type { Dialect } from '../../../core-lite/state/dialect.ts';
import { ECHO_MODEL } from '../../../core-lite/state/model.ts';
import type { GateCredential } from '../../../core-lite/vault/gate-credentials.ts';
import type { AskedFacts, CandidateFacts } from '../../../gates/candidates.ts';
import { type CallFacts, decideModelCall } from '../../../gates/decide/model-call.ts';

const url = parseUpstreamUrl('https://provider.test/v1') as UpstreamUrl;
const odd = parseUpstreamUrl('https://provider.test:8443') as UpstreamUrl;
const credential: GateCredential = {
  id: 'crd_1',
  version: 1,
  kind: 'model_key',
  hosts: parseHostPatterns(['provider.test']),
  user: null,
  parts: {},
};
const model = {
  name: 'm',
  dialects: ['openai'],
  baseUrl: 'https://provider.test/v1',
  upstreamName: 'm',
  credentialId: 'crd_1',
  provider: 'custom',
  defaultMaxTokens: null,
  fallbacks: [],
  createdAt: new Date(0),
} as const;
const session = { user: 'bob', manifest: { models: null, mcpServers: {}, httpTools: {} } };
/** Facts of the model that is asked for, and of the rest of the call, in one. */
interface Row extends Omit<AskedFacts, 'fallbacks'>, Omit<CallFacts, 'asked'> {}
const FACTS: Row = { name: 'm', dialect: 'openai', session, model, url, credential, fixture: null };

const ROWS: readonly (readonly [name: string, change: Partial<Row>, reason: string])[] = [
  ['a model with its key', {}, 'declared'],
  ['a model that asks for no key', { model: { ...model, credentialId: null }, credential: null }, 'declared'],
  ['one’s own credential', { credential: { ...credential, user: 'bob' } }, 'declared'],
  ['a bearer', { credential: { ...credential, kind: 'bearer' } }, 'declared'],
  [
    'the built-in model',
    { name: ECHO_MODEL.name, model: ECHO_MODEL, url: null, credential: null },
    'built_in',
  ],
  [
    'a name on the list',
    { session: { ...session, manifest: { models: ['m'], mcpServers: {}, httpTools: {} } } },
    'declared',
  ],
  [
    'an empty list',
    { session: { ...session, manifest: { models: [], mcpServers: {}, httpTools: {} } } },
    'model_undeclared',
  ],
  [
    'undeclared comes before unknown: nobody probes the catalogue',
    { model: null, session: { ...session, manifest: { models: [], mcpServers: {}, httpTools: {} } } },
    'model_undeclared',
  ],
  ['no such model', { model: null }, 'model_unknown'],
  ['another dialect', { dialect: 'anthropic' }, 'dialect_unserved'],
  ['a provider that nobody here knows', { model: { ...model, provider: 'tomorrow' } }, 'dialect_unserved'],
  [
    'a dialect that was left behind when the provider changed',
    { dialect: 'gemini', model: { ...model, provider: 'openai', dialects: ['openai', 'gemini'] } },
    'dialect_unserved',
  ],
  [
    'a fixture for all, its credential unread',
    { fixture: ECHO_MODEL, credential: null, url: null },
    'built_in',
  ],
  [
    'a fixture serves only what the model does',
    { fixture: ECHO_MODEL, dialect: 'gemini' },
    'dialect_unserved',
  ],
  ['a fixture is for what there is', { fixture: ECHO_MODEL, model: null }, 'model_unknown'],
  ['a URL that is not called', { url: null }, 'url_refused'],
  ['a credential that is gone', { credential: null }, 'credential_missing'],
  [
    'a kind that no model takes',
    { credential: { ...credential, kind: 'environment_secret' } },
    'credential_missing',
  ],
  ['another person’s credential', { credential: { ...credential, user: 'ann' } }, 'credential_user'],
  [
    'a person’s credential, a session of nobody',
    { credential: { ...credential, user: 'ann' }, session: { ...session, user: null } },
    'credential_user',
  ],
  [
    'another host',
    { credential: { ...credential, hosts: parseHostPatterns(['*.provider.test']) } },
    'credential_host',
  ],
  ['another port', { url: odd }, 'credential_host'],
  [
    'the port by name',
    { url: odd, credential: { ...credential, hosts: parseHostPatterns(['provider.test:8443']) } },
    'declared',
  ],
];

function decide(row: Partial<Row>, fallbacks: readonly CandidateFacts[] = []) {
  const { dialect, session: of, fixture, ...asked } = { ...FACTS, ...row };
  return decideModelCall({ dialect, session: of, fixture, asked: { ...asked, fallbacks } });
}

describe('a model call', () => {
  for (const [name, change, reason] of ROWS) {
    it(`${reason}: ${name}`, () => {
      const decided = decide(change);
      if (decided instanceof Deny) expect(decided.reason).toBe(reason);
      else if ('builtIn' in decided) expect(decided.builtIn.proof.reason).toBe(reason);
      else expect(decided.candidates.map(({ proof }) => proof.reason)).toEqual([reason]);
    });
  }
});

const spare = (name: string, more: Partial<CandidateFacts> = {}): CandidateFacts => ({
  name,
  model: { ...model, name },
  url,
  credential,
  ...more,
});
const called = (row: Partial<Row>, fallbacks: readonly CandidateFacts[]): readonly string[] | string => {
  const decided = decide(row, fallbacks);
  if (decided instanceof Deny) return decided.reason;
  return 'builtIn' in decided
    ? decided.builtIn.model.name
    : decided.candidates.map((each) => each.model.name);
};

describe('fallbacks', () => {
  const dialects: readonly Dialect[] = ['anthropic'];
  const only = { ...session, manifest: { models: ['m', 'b'], mcpServers: {}, httpTools: {} } };
  it.each<[name: string, fallbacks: readonly CandidateFacts[], row: Partial<Row>, called: string | string[]]>(
    [
      ['come behind the asked model, in their order', [spare('b'), spare('a')], {}, ['m', 'b', 'a']],
      ['are left out when the manifest has others', [spare('a'), spare('b')], { session: only }, ['m', 'b']],
      ['are left out when they are gone', [spare('a', { model: null }), spare('b')], {}, ['m', 'b']],
      [
        'are left out in another dialect',
        [spare('a', { model: { ...model, name: 'a', dialects } })],
        {},
        ['m'],
      ],
      ['are left out without their credential', [spare('a', { credential: null })], {}, ['m']],
      ['are left out where that may not go', [spare('a', { url: odd })], {}, ['m']],
      [
        'are left out with another’s',
        [spare('a', { credential: { ...credential, user: 'ann' } })],
        {},
        ['m'],
      ],
      ['never take the place of what is refused', [spare('a')], { credential: null }, 'credential_missing'],
      ['never make a dialect served', [spare('a')], { dialect: 'gemini' }, 'dialect_unserved'],
      ['are not called where a fixture answers', [spare('a')], { fixture: ECHO_MODEL }, 'fixture/echo'],
    ],
  )('%s', (_name, fallbacks, row, expected) => {
    expect(called(row, fallbacks)).toEqual(expected);
  });
});
