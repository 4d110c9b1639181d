/**
 * A door on loopback that adds a run token: the suite sends no bearer. All else passes as it is, `Host` and `Origin`
 * included, since those are the gate's to judge.
 */
import { createServer, request as httpRequest } from 'node:http';
import { pipeline } from 'node:stream/promises';

export interface Shim {
  /** @param path such as `/mcp/server` */
  url(path: string): string;
  close(): Promise<void>;
}

export async function startShim(gatesPort: number, token: string): Promise<Shim> {
  const server = createServer((request, response) => {
    const { method, url: path, rawHeaders } = request;
    const headers = [...rawHeaders, 'Authorization', `Bearer ${token}`];
    const onward = httpRequest({ host: '127.0.0.1', port: gatesPort, method, path, headers, agent: false });
    onward.once('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      response.flushHeaders();
      pipeline(answer, response).catch(() => {});
    });
    onward.once('error', () => response.destroy());
    // Whoever leaves here leaves there.
    response.once('close', () => onward.destroy());
    pipeline(request, onward).catch(() => onward.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  return {
    url: (path) => `http://127.0.0.1:${port}${path}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
