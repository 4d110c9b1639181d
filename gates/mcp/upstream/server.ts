/**
 * What the rest of the gate knows of an MCP server: one of these for a session and a server, whatever era and transport
 * the server speaks. It adds and takes away nothing of what is asked and answered; who may ask what is decided before it.
 */
import type { Allow } from '../../../core-lite/decision.ts';
import type { UpstreamUrl } from '../../../core-lite/network/upstream-url.ts';
import type { GateCredential } from '../../../core-lite/vault/gate-credentials.ts';
import type { Answer, JsonObject } from '../messages.ts';
import type { Failed } from './failures.ts';

/** `modern`: the revision 2026-07-28 and later. */
export type Era = 'modern' | 'legacy';

/** As the server said it. */
export interface About {
  readonly protocolVersion: string;
  readonly capabilities: JsonObject;
  readonly serverInfo: JsonObject;
  readonly instructions: string | null;
}

/** Whoever asks, as the server shall see it: what its session allows of what it can do. */
export interface ClientFacts {
  /** `null`: the gate names itself. */
  readonly info: JsonObject | null;
  readonly capabilities: JsonObject;
}

export interface Asked {
  readonly method: string;
  /** Without `_meta`. */
  readonly params: JsonObject;
  readonly meta: AskedMeta;
}

export interface AskedMeta {
  readonly client: ClientFacts;
  /** A legacy server is told of it with `logging/setLevel`, once, and it holds for the session. */
  readonly logLevel: string | null;
  readonly wantsProgress: boolean;
  /** What else stood in `_meta`: trace context, and whatever nobody knows yet. Goes as it is. */
  readonly rest: JsonObject;
}

export interface ServerRequest {
  readonly method: string;
  readonly params: JsonObject;
}

export interface ServerNotification {
  readonly method: string;
  readonly params: JsonObject;
}

/** How one request is made. */
export interface Way {
  /** Cancels it, in the manner of the server's era. */
  readonly signal: AbortSignal;
  /** The params of each `notifications/progress`, without its token. */
  readonly onProgress: (params: JsonObject) => void;
  /** The params of each `notifications/message`. */
  readonly onLog: (params: JsonObject) => void;
  /**
   * A legacy server's own request. What this resolves to is answered to it.
   * @param signal aborted when the server takes it back, or the call is over
   */
  readonly onRequest: (request: ServerRequest, signal?: AbortSignal) => Promise<Answer>;
  /** Asked once, right before the first byte; `false`: nothing is written, and it fails as `stopped`. */
  readonly beforeSend?: () => Promise<boolean>;
  /** `Mcp-Param-*` lines for a modern server (param-headers.ts); others are left out. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** What is listened for. */
export interface Filter {
  readonly toolsListChanged?: boolean;
  readonly promptsListChanged?: boolean;
  readonly resourcesListChanged?: boolean;
  /** URIs. */
  readonly resourceSubscriptions?: readonly string[];
  /** Also what a legacy server says without having been asked to. */
  readonly unasked?: boolean;
}

export interface Subscription {
  close(): void;
}

export interface UpstreamServer {
  readonly era: Era;
  readonly about: About;
  /** Never rejects but for faults of our own. */
  request(asked: Asked, way: Way): Promise<Answer | Failed>;
  /** Resolves when the server took it, or could not be told. Not for cancellation, which is the signal's. */
  notify(method: string, params: JsonObject): Promise<void>;
  /** Until it is closed, or the server's connection ends; then `onEnd` is called. */
  subscribe(filter: Filter, on: (said: ServerNotification) => void, onEnd?: () => void): Subscription;
}

/** Where the server's requests go, and with what: decided anew for each, so that a rotation holds from the next one on. */
export interface Reach {
  readonly proof: Allow<string>;
  /** The server's own, or its `via`'s. */
  readonly url: UpstreamUrl;
  /** What is put on, by `vault/name`: the server's, and beside it that of its `via`. */
  readonly credentials: readonly { readonly name: string; readonly credential: GateCredential }[];
}

export type FindReach = () => Promise<Reach | Failed>;
