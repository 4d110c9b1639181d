/** What is asked for a caller of the product's own routes: nobody is there who could be asked, or hears of progress. */
import { type JsonObject, RPC } from '../messages.ts';
import type { Asked, Way } from '../upstream/server.ts';

export function ownRequest(method: string, params: JsonObject): Asked {
  const client = { info: null, capabilities: {} };
  return { method, params, meta: { client, logLevel: null, wantsProgress: false, rest: {} } };
}

export function ownWay(signal: AbortSignal): Way {
  return {
    signal,
    onProgress: () => {},
    onLog: () => {},
    onRequest: async ({ method }) => ({
      error: { code: RPC.methodNotFound, message: `nobody can be asked for ${method}` },
    }),
  };
}
