/**
 * What a server says beside its answers: to whom it goes. On a request's own stream it is that request's; on a stream for
 * all, progress goes by its token, a log line to every request that runs, and a request of the server's to the oldest
 * that runs, since it can only come from one of them and nothing tells which.
 */
import {
  type Answer,
  isJsonObject,
  type JsonObject,
  type RequestId,
  RPC,
  type RpcMessage,
  type RpcResponse,
} from '../messages.ts';
import type { ServerNotification, Way } from './server.ts';

export type Listener = (said: ServerNotification) => void;

export class Incoming {
  readonly #tell: (answer: RpcResponse) => void;
  readonly #running = new Map<RequestId, Way>();
  /** The server's own requests that are not answered yet. */
  readonly #asked = new Map<RequestId, { readonly of: Way; readonly leave: AbortController }>();
  readonly #listeners = new Set<Listener>();

  /** @param tell takes an answer to the server */
  constructor(tell: (answer: RpcResponse) => void) {
    this.#tell = tell;
  }

  begin(id: RequestId, way: Way): void {
    this.#running.set(id, way);
  }

  end(id: RequestId): void {
    const way = this.#running.get(id);
    this.#running.delete(id);
    for (const { of, leave } of this.#asked.values()) if (of === way) leave.abort();
  }

  /** Hears what is not of a request. @returns ends that */
  listen(on: Listener): () => void {
    this.#listeners.add(on);
    return () => this.#listeners.delete(on);
  }

  close(): void {
    for (const { leave } of this.#asked.values()) leave.abort();
    this.#asked.clear();
  }

  /** @param of the request on whose stream it came; `null` on a stream for all */
  take(said: RpcMessage, of: RequestId | null): void {
    if (!('method' in said)) return;
    const params = isJsonObject(said.params) ? said.params : {};
    if ('id' in said) void this.#answer(said.id, said.method, params, of);
    else this.#notice(said.method, params, of);
  }

  #notice(method: string, params: JsonObject, of: RequestId | null): void {
    switch (method) {
      case 'notifications/progress': {
        const { progressToken, ...said } = params;
        this.#running.get(progressToken as RequestId)?.onProgress(said);
        return;
      }
      case 'notifications/message':
        for (const way of this.#meant(of)) way.onLog(params);
        return;
      case 'notifications/cancelled':
        this.#asked.get(params['requestId'] as RequestId)?.leave.abort();
        return;
      default:
        for (const on of this.#listeners) on({ method, params });
    }
  }

  async #answer(id: RequestId, method: string, params: JsonObject, of: RequestId | null): Promise<void> {
    if (method === 'ping') return this.#tell({ jsonrpc: '2.0', id, result: {} });
    const [way] = this.#meant(of);
    if (!way || this.#asked.size >= MAX_ASKED || this.#asked.has(id)) {
      return this.#tell({ jsonrpc: '2.0', id, error: way ? TOO_MANY : NOBODY });
    }
    const leave = new AbortController();
    this.#asked.set(id, { of: way, leave });
    const signal = AbortSignal.any([leave.signal, way.signal]);
    const answer: Answer = await way.onRequest({ method, params }, signal).catch(() => ({ error: BROKEN }));
    // Whoever took its question back wants no answer.
    if (this.#asked.delete(id) && !leave.signal.aborted) this.#tell({ jsonrpc: '2.0', id, ...answer });
  }

  #meant(of: RequestId | null): Way[] {
    if (of === null) return [...this.#running.values()];
    const way = this.#running.get(of);
    return way ? [way] : [];
  }
}

const MAX_ASKED = 32;
const NOBODY = { code: RPC.methodNotFound, message: 'no call is running that could be asked' };
const TOO_MANY = { code: RPC.internal, message: 'too many requests are open' };
const BROKEN = { code: RPC.internal, message: 'the request could not be answered' };
