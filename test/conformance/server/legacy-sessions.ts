/** Sessions of legacy clients at the conformance server, with streams that can be taken up again. */
import { randomUUID } from 'node:crypto';
import {
  type EventStore,
  isInitializeRequest,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';

interface Session {
  readonly server: Server;
  readonly transport: WebStandardStreamableHTTPServerTransport;
}

export class LegacySessions {
  readonly #sessions = new Map<string, Session>();
  readonly #make: () => Server;

  constructor(make: () => Server) {
    this.#make = make;
  }

  /** The servers of all sessions. */
  get servers(): Server[] {
    return [...this.#sessions.values()].map(({ server }) => server);
  }

  async fetch(request: Request): Promise<Response> {
    const id = request.headers.get('mcp-session-id');
    if (id !== null) {
      const session = this.#sessions.get(id);
      return session ? session.transport.handleRequest(request) : refuse(404, 'Session not found');
    }
    if (request.method !== 'POST') return refuse(400, 'Session ID required');
    const parsedBody: unknown = await request.clone().json();
    if (!isInitializeRequest(parsedBody)) return refuse(400, 'Session ID required');
    return (await this.#begin()).handleRequest(request, { parsedBody });
  }

  /** Forgets them, as a restart does. */
  async close(): Promise<void> {
    const all = [...this.#sessions.values()];
    this.#sessions.clear();
    for (const { transport } of all) await transport.close();
  }

  async #begin(): Promise<WebStandardStreamableHTTPServerTransport> {
    const server = this.#make();
    const transport: WebStandardStreamableHTTPServerTransport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      eventStore: keepEvents(),
      retryInterval: 500,
      onsessioninitialized: (id) => {
        this.#sessions.set(id, { server, transport });
      },
      onsessionclosed: (id) => {
        this.#sessions.delete(id);
      },
    });
    await server.connect(transport);
    return transport;
  }
}

function keepEvents(): EventStore {
  const events: { id: string; stream: string; message: Parameters<EventStore['storeEvent']>[1] }[] = [];
  return {
    storeEvent: async (stream, message) => {
      const id = `${stream}#${events.length}`;
      events.push({ id, stream, message });
      return id;
    },
    replayEventsAfter: async (last, { send }) => {
      const place = events.findIndex(({ id }) => id === last);
      const stream = events[place]?.stream ?? '';
      for (const event of events.slice(place + 1)) {
        // The first of a stream is empty: it only gives an id to come back with.
        if (event.stream === stream && 'jsonrpc' in event.message) await send(event.id, event.message);
      }
      return stream;
    },
  };
}

function refuse(status: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', id: null, error: { code: -32_000, message } }, { status });
}
