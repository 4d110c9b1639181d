/** An HTTPS origin on loopback with a CA of its own, made as the product makes its CA and leaves. */
import { createServer } from 'node:https';
import { makeAuthority, openAuthority } from '../../certs/authority.ts';
import { issueLeaf } from '../../certs/leaf.ts';

export interface HttpsOrigin {
  readonly port: number;
  /** The CA that signed its certificate: clients must be told to trust it. */
  readonly caPem: string;
  /** `method host path` of each request. */
  readonly requests: readonly string[];
  close(): Promise<void>;
}

/** It answers every request with its path. */
export async function startHttpsOrigin(host: string): Promise<HttpsOrigin> {
  const now = new Date();
  const authority = openAuthority(makeAuthority({ name: `Test origin ${host}`, now }));
  const leaf = issueLeaf(authority, host, now);
  const requests: string[] = [];
  const server = createServer({ cert: leaf.certificatePem, key: leaf.keyPem }, (request, response) => {
    requests.push(`${request.method} ${request.headers.host} ${request.url}`);
    response.end(`you asked for ${request.url}`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    caPem: authority.certificatePem,
    requests,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
