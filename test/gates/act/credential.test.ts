/** What of a credential is masked where an upstream gives it back: the secret in each way in which it may be named. */
import { describe, expect, it } from 'vitest';
import { Allow } from '../../../core-lite/decision.ts';
import { Secret } from '../../../core-lite/secret.ts';
import type { GateCredential } from '../../../core-lite/vault/gate-credentials.ts';
import { putOn } from '../../../gates/act/credential.ts';

const credential = (kind: GateCredential['kind'], parts: Readonly<Record<string, string>>): GateCredential =>
  ({
    kind,
    parts: Object.fromEntries(Object.entries(parts).map(([name, text]) => [name, new Secret(text)])),
  }) as unknown as GateCredential;
const secretsOf = (value: string): string[] =>
  putOn(new Allow('declared'), credential('headers', { 'X-Auth': value }), null).secrets.map(String);
const KEY = 'sk-0123456789';
const BASIC = Buffer.from(`user:${KEY}`).toString('base64');

describe('the secrets of a header', () => {
  for (const [value, found] of [
    [KEY, []],
    [`Bearer ${KEY}`, [KEY]],
    [`token  ${KEY} `, [KEY]],
    [`Token token="${KEY}"`, [`token="${KEY}"`, KEY]],
    [`ApiKey id=someone, key=${KEY}`, ['id=someone', `key=${KEY}`, KEY]],
    [`session=${KEY}; theme=dark`, [`session=${KEY}`, KEY, 'theme=dark']],
    [`Basic ${BASIC}`, [BASIC, `user:${KEY}`, KEY]],
    ['Bearer a2V5a2V5a2U==', ['a2V5a2V5a2U==']],
    ['Bearer short', []],
    ['2023-06-01', []],
  ] as const)
    it(`are its value and what is in it: ${value}`, () =>
      expect(secretsOf(value).toSorted()).toEqual([value, ...found].toSorted()));

  it('go on as they are, one header for each', () => {
    const parts = { Authorization: `Bearer ${KEY}`, 'X-Org': 'org-1' };
    expect(putOn(new Allow('declared'), credential('headers', parts), null)).toEqual({
      headers: ['Authorization', `Bearer ${KEY}`, 'X-Org', 'org-1'],
      secrets: [`Bearer ${KEY}`, KEY, 'org-1'].map((text) => Buffer.from(text)),
    });
  });
});

it('of any other kind the secret is the value alone', () => {
  for (const kind of ['model_key', 'bearer'] as const)
    expect(
      putOn(new Allow('declared'), credential(kind, { value: KEY }), 'x-api-key').secrets.map(String),
    ).toEqual([KEY]);
});
