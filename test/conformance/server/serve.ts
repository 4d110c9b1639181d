/**
 * The conformance server on loopback, in one era or both. By hand, for the suite to be run against it directly:
 *   node test/conformance/server/serve.ts dual|legacy|modern PORT
 */
import {
  createMcpHandler,
  hostHeaderValidationResponse,
  isLegacyRequest,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  originValidationResponse,
} from '@modelcontextprotocol/server';
import { serveWeb } from '../../support/web-handler.ts';
import { LegacySessions } from './legacy-sessions.ts';
import { makeServer } from './make-server.ts';
import type { Surroundings } from './tool.ts';

export const ERAS = ['dual', 'legacy', 'modern'] as const;
export type ServedEra = (typeof ERAS)[number];

export interface ConformanceServer {
  readonly host: string;
  readonly port: number;
  /** As the gates know it. */
  readonly url: string;
  /** As the suite reaches it without a gate. */
  readonly directUrl: string;
  /** Forgets the sessions of its clients, as a restart does. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

/** @param host the name that it is known by beside localhost */
export async function startConformanceServer(
  era: ServedEra,
  host = 'localhost',
  askedPort = 0,
): Promise<ConformanceServer> {
  const changes: Surroundings['changes'] = {
    tools: () => {
      modern.notify.toolsChanged();
      for (const each of legacy.servers) void each.sendToolListChanged();
    },
    prompts: () => {
      modern.notify.promptsChanged();
      for (const each of legacy.servers) void each.sendPromptListChanged();
    },
  };
  const modern = createMcpHandler(() => makeServer('modern', changes), { legacy: 'reject' });
  const legacy = new LegacySessions(() => makeServer('legacy', changes));
  const serve = async (request: Request): Promise<Response> => {
    const refused =
      hostHeaderValidationResponse(request, [...localhostAllowedHostnames(), host]) ??
      originValidationResponse(request, localhostAllowedOrigins());
    if (refused) return refused;
    if (era === 'legacy' || (era === 'dual' && (await isLegacyRequest(request))))
      return legacy.fetch(request);
    return modern.fetch(request);
  };
  const { server, port } = await serveWeb(serve, askedPort);
  return {
    host,
    port,
    url: `http://${host}:${port}/mcp`,
    directUrl: `http://127.0.0.1:${port}/mcp`,
    restart: () => legacy.close(),
    close: async () => {
      await legacy.close();
      await modern.close();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

if (import.meta.main) {
  const [asked, port] = process.argv.slice(2);
  const era = ERAS.find((each) => each === asked);
  if (!era) throw new Error(`say which: ${ERAS.join(', ')}`);
  const { directUrl } = await startConformanceServer(era, 'localhost', Number(port ?? 0));
  console.log(directUrl);
}
