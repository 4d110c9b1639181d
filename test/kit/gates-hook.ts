/**
 * Tells the hostile kit's runner for the gates what our tokens and routes are: a run of its cases is a session of ours
 * with a leased turn.
 */
import { makeId } from '../../core-lite/id.ts';
import { adminApi } from './admin-api.ts';
import { type HookStage, makeTokens, readFacts, type TokenFacts } from './hook-tokens.ts';
import { type LeasedRun, takeLease } from './leased-run.ts';

/** What hostile-gates.ts leaves for the hook. */
export interface GatesFacts extends TokenFacts {
  readonly coreUrl: string;
  readonly adminKey: string;
  /** By the kit's name of a run. */
  readonly runs: Readonly<Record<string, Pick<LeasedRun, 'session' | 'turn'>>>;
}

type Json = Readonly<Record<string, unknown>>;
/** What a case names: they go into the path as they are, since some are hostile. */
type Names = Readonly<Record<'tool' | 'provider' | 'server' | 'turn', string>>;

// biome-ignore lint/style/noDefaultExport: this is how the kit takes a hook
export default function makeHook(stage: HookStage) {
  const facts = readFacts<GatesFacts>(stage);
  const call = adminApi(facts.coreUrl, facts.adminKey);
  return {
    ...makeTokens(facts, stage),
    gates: (op: keyof typeof ROUTES, names: Names) => ({
      method: 'POST',
      ...ROUTES[op](names),
      ...(op === 'cancel' ? { base: facts.coreUrl } : {}),
    }),
    ids: makeIds(facts),
    revoke: async (session: string) => {
      const run = facts.runs[session];
      if (!run) throw new Error(`no session plays ${session}`);
      await takeLease(call, run.turn);
    },
  };
}

function makeIds({ runs }: GatesFacts): Json {
  const named = Object.entries(runs).flatMap(([name, { session, turn }]) => [
    [name, session],
    [name.replace('session', 'turn'), turn],
  ]);
  // They look like ours and exist nowhere: only then is the answer for them comparable.
  return { ...Object.fromEntries(named), 'session-404': makeId('ses'), 'turn-404': makeId('trn') };
}

const ROUTES = {
  tool: ({ tool }: Names) => ({ path: `/v1/http-calls/${tool}` }),
  model: ({ provider }: Names) => ({
    path: '/v1/messages',
    body: (body: Json) => ({ ...body, model: provider, max_tokens: 1000 }),
  }),
  // One stateless request: the newest revision needs no handshake.
  mcp: ({ server }: Names) => ({
    path: `/mcp/${server}`,
    body: (body: Json) =>
      body['method'] === 'tools/call' ? { ...body, params: { ...paramsOf(body), _meta: MCP_META } } : body,
    headers: (body: Json) => ({
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': String(body['method']),
      ...('name' in paramsOf(body) ? { 'mcp-name': String(paramsOf(body)['name']) } : {}),
    }),
  }),
  cancel: ({ turn }: Names) => ({ path: `/v1/turns/${turn}/cancel` }),
};

function paramsOf(body: Json): Json {
  const { params } = body;
  return typeof params === 'object' && params !== null ? (params as Json) : {};
}

const MCP_META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'kit', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
};
