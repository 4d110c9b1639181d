/** An OAuth token endpoint over TLS on loopback, with a CA of its own; what it answers is the test's to say. */
import { createServer } from 'node:https';
import { makeAuthority, openAuthority } from '../../certs/authority.ts';
import { issueLeaf } from '../../certs/leaf.ts';

export interface TokenEndpoint {
  readonly port: number;
  readonly caPem: string;
  /** The forms that came, oldest first. */
  readonly forms: readonly URLSearchParams[];
  /** What it answers from now on; by default `canary-access-N`, N counting from 1. */
  answer(make: (count: number) => { readonly status: number; readonly body: object }): void;
  close(): Promise<void>;
}

export async function startTokenEndpoint(host: string): Promise<TokenEndpoint> {
  const now = new Date();
  const authority = openAuthority(makeAuthority({ name: `Token endpoint ${host}`, now }));
  const leaf = issueLeaf(authority, host, now);
  const forms: URLSearchParams[] = [];
  let make = issueToken;
  const server = createServer({ cert: leaf.certificatePem, key: leaf.keyPem }, async (request, response) => {
    let text = '';
    for await (const chunk of request) text += String(chunk);
    forms.push(new URLSearchParams(text));
    const { status, body } = make(forms.length);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    caPem: authority.certificatePem,
    forms,
    answer: (made) => {
      make = made;
    },
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** A token that lives for an hour. */
export function issueToken(count: number): { readonly status: number; readonly body: object } {
  const body = { access_token: `canary-access-${count}`, token_type: 'Bearer', expires_in: 3600 };
  return { status: 200, body };
}
