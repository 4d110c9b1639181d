/** A peer that a test plays: what it is asked is written down, and each method is answered as the test says. */
import type { JsonObject } from '../../gates/mcp/messages.ts';
import type { Asked, ServerNotification, Way } from '../../gates/mcp/upstream/server.ts';
import type {
  McpCaller,
  McpPeer,
  McpRefusal,
  McpWay,
  PeerAbout,
  PeerFilter,
  PeerOutcome,
} from '../../gates/mcp/way.ts';

export type Played = (asked: Asked, way: Way) => PeerOutcome | Promise<PeerOutcome>;

export interface ScriptedPeer {
  readonly way: McpWay;
  /** By method; may be changed at any time. */
  readonly plays: Record<string, Played>;
  readonly asked: Asked[];
  readonly notified: { readonly method: string; readonly params: JsonObject }[];
  readonly opened: McpCaller[];
  /** The filters of the subscriptions that are open. */
  readonly filters: () => PeerFilter[];
  /** Says something to everyone who listens. */
  say(said: ServerNotification): void;
  /** Every open from now on is refused; `null`: none. */
  refuse: McpRefusal | null;
  about: PeerAbout;
}

export function scriptPeer(plays: Record<string, Played>, capabilities: JsonObject = ALL): ScriptedPeer {
  const subscriptions = new Map<symbol, { filter: PeerFilter; on: (said: ServerNotification) => void }>();
  const asked: Asked[] = [];
  const notified: ScriptedPeer['notified'] = [];
  const opened: McpCaller[] = [];
  const scripted: ScriptedPeer = {
    plays,
    asked,
    notified,
    opened,
    about: { capabilities, serverInfo: { name: 'scripted', version: '1.0' }, instructions: 'Be kind.' },
    refuse: null,
    filters: () => [...subscriptions.values()].map(({ filter }) => filter),
    say: (said) => {
      for (const { on } of subscriptions.values()) on(said);
    },
    way: {
      open: async (caller) => {
        opened.push(caller);
        return scripted.refuse ?? peer;
      },
    },
  };
  const peer: McpPeer = {
    get about() {
      return scripted.about;
    },
    request: async (request, way) => {
      asked.push(request);
      const play = plays[request.method];
      return play
        ? play(request, way)
        : { error: { code: -32_601, message: `Method not found: ${request.method}` } };
    },
    notify: async (method, params) => {
      notified.push({ method, params });
    },
    subscribe: (filter, on) => {
      const name = Symbol();
      subscriptions.set(name, { filter, on });
      return { close: () => void subscriptions.delete(name) };
    },
    inputSchema: (tool) => (tool === 'headed' ? HEADED : null),
  };
  return scripted;
}

const HEADED = {
  type: 'object',
  properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
};
const ALL: JsonObject = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  logging: {},
  completions: {},
};
