/** The decision on a model call, as a table: one row for each reason, the first rule that speaks wins. */
import { describe, expect, it } from 'vitest';
import { parseHostPatterns } from '../../../core-lite/network/policy.ts';
import { parseUpstreamUrl, type UpstreamUrl } from '../../../core-lite/network/upstream-url.ts';
import { ECHO_MODEL } from '../../../core-lite/state/model.ts';
import { decideModelCall, type ModelCallFacts } from '../../../gates/decide/model-call.ts';

const url = parseUpstreamUrl('https://provider.test/v1') as UpstreamUrl;
const odd = parseUpstreamUrl('https://provider.test:8443') as UpstreamUrl;
const credential = { kind: 'model_key', hosts: parseHostPatterns(['provider.test']), user: null } as const;
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
const session = { user: 'bob', manifest: { models: null, httpTools: {} } };
const FACTS: ModelCallFacts = { name: 'm', dialect: 'openai', session, model, url, credential };

const ROWS: readonly (readonly [name: string, change: Partial<ModelCallFacts>, reason: string])[] = [
  ['a model with its key', {}, 'declared'],
  ['a model that asks for no key', { model: { ...model, credentialId: null }, credential: null }, 'declared'],
  ['one’s own credential', { credential: { ...credential, user: 'bob' } }, 'declared'],
  ['a bearer', { credential: { ...credential, kind: 'bearer' } }, 'declared'],
  [
    'the built-in model',
    { name: ECHO_MODEL.name, model: ECHO_MODEL, url: null, credential: null },
    'built_in',
  ],
  ['a name on the list', { session: { ...session, manifest: { models: ['m'], httpTools: {} } } }, 'declared'],
  ['an empty list', { session: { ...session, manifest: { models: [], httpTools: {} } } }, 'model_undeclared'],
  [
    'undeclared comes before unknown: nobody probes the catalogue',
    { model: null, session: { ...session, manifest: { models: [], httpTools: {} } } },
    'model_undeclared',
  ],
  ['no such model', { model: null }, 'model_unknown'],
  ['another dialect', { dialect: 'anthropic' }, 'dialect_unserved'],
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

describe('a model call', () => {
  for (const [name, change, reason] of ROWS) {
    it(`${reason}: ${name}`, () => {
      const decision = decideModelCall({ ...FACTS, ...change });
      const allowed = reason === 'declared' || reason === 'built_in';
      expect([decision.verdict, decision.reason]).toEqual([allowed ? 'allowed' : 'denied', reason]);
    });
  }
});
