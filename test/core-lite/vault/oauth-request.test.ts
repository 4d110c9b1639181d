import { describe, expect, it } from 'vitest';
import { Secret } from '../../../core-lite/secret.ts';
import { makeTokenRequest } from '../../../core-lite/vault/oauth-request.ts';
import type { OauthSettings } from '../../../core-lite/vault/oauth-settings.ts';

const settings: OauthSettings = {
  tokenUrl: 'https://login.test/o/token/?v=2',
  clientId: 'an id:with a colon',
  grant: 'client_credentials',
};
const parts = {
  client_secret: new Secret('s%c:r+t value'),
  refresh_token: new Secret('first-refresh-token'),
};

describe('a token request', () => {
  it('shows the client in a header, each half encoded by itself', () => {
    const { authorization, form } = makeTokenRequest(settings, parts, null);
    const pair = Buffer.from(authorization?.reveal().replace('Basic ', '') ?? '', 'base64').toString();
    expect(pair).toBe('an+id%3Awith+a+colon:s%25c%3Ar%2Bt+value');
    expect(form.reveal()).toBe('grant_type=client_credentials');
  });

  it('shows the client in the form where the provider wants that', () => {
    const post = { ...settings, clientAuth: 'client_secret_post' } as const;
    const { authorization, form } = makeTokenRequest(post, parts, null);
    expect(authorization).toBeNull();
    expect(Object.fromEntries(new URLSearchParams(form.reveal()))).toEqual({
      grant_type: 'client_credentials',
      client_id: 'an id:with a colon',
      client_secret: 's%c:r+t value',
    });
  });

  it('says what the token is for', () => {
    const wishes = { scope: 'read write', audience: 'api', resource: 'https://api.test/' };
    const { form } = makeTokenRequest({ ...settings, ...wishes }, parts, null);
    expect(Object.fromEntries(new URLSearchParams(form.reveal()))).toMatchObject(wishes);
  });

  it('sends the refresh token that the provider gave last', () => {
    const refreshing = { ...settings, grant: 'refresh_token' } as const;
    const sent = (last: Secret | null) =>
      new URLSearchParams(makeTokenRequest(refreshing, parts, last).form.reveal()).get('refresh_token');
    expect(sent(null)).toBe('first-refresh-token');
    expect(sent(new Secret('second-refresh-token'))).toBe('second-refresh-token');
  });

  it('goes to the path as it was written', () => {
    const pathOf = (tokenUrl: string) => makeTokenRequest({ ...settings, tokenUrl }, parts, null).path;
    expect(pathOf('https://login.test/o/token/?v=2')).toBe('/o/token/?v=2');
    expect(pathOf('https://login.test:8443/token')).toBe('/token');
    expect(pathOf('https://login.test')).toBe('/');
    expect(pathOf('https://login.test?v=2')).toBe('/?v=2');
  });
});
