/**
 * What stands between the two sides of MCP at the gates: the side towards clients asks a way for a peer, and the peer
 * answers like one server, whatever stands behind it: one declared server, or all of the session's merged. A peer shows
 * only what the manifest declares, starts and records each request, and never changes what it does not have to.
 */
import type { SessionFacts } from '../../core-lite/state/session.ts';
import type { RefusalDetail } from '../answer.ts';
import type { Call } from '../calls.ts';
import type { RefusalReason, StopReason } from '../reasons.ts';

/** JSON of either side. Fields that nobody here knows stay in it. */
export type JsonObject = Readonly<Record<string, unknown>>;
export type Era = 'modern' | 'legacy';

export interface McpWay {
  /**
   * Whom a call of this session may talk to. Each request, notification and stream of a client is a call of its own
   * and opens its own peer; what is behind it is shared. Rejects with a Fault only.
   */
  open(asked: McpCaller): Promise<McpPeer | McpRefusal>;
}

export interface McpCaller {
  readonly call: Call;
  readonly session: SessionFacts;
  /** As the path names it; `null` for all of the manifest's, merged. */
  readonly server: string | null;
}

/** The gate itself refuses: an HTTP error, or an error of the message where an answer has begun. */
export interface McpRefusal {
  readonly refusal: RefusalReason | StopReason;
  readonly detail?: RefusalDetail;
}

/** What a server says of itself, as it said it, but for what the manifest takes away. */
export interface PeerAbout {
  readonly capabilities: JsonObject;
  readonly serverInfo: JsonObject;
  readonly instructions: string | null;
  /** What else its `server/discover` or `initialize` answered with, such as `_meta`. */
  readonly more?: JsonObject;
}

export interface McpPeer {
  readonly about: PeerAbout;
  /** Never rejects but with a Fault. */
  request(asked: PeerRequest, way: PeerWay): Promise<PeerAnswer>;
  /** A notification of the client that is no cancellation: `notifications/roots/list_changed` and what is not known. */
  notify(method: string, params: JsonObject): Promise<void>;
  /** What comes without being asked, until it is closed or the call's signal aborts. */
  subscribe(filter: PeerFilter, on: (notification: PeerNotification) => void): PeerSubscription;
  /** The input schema of a tool as the session was last shown it; `null` where it was not. */
  inputSchema(tool: string): object | null;
}

export interface PeerRequest {
  readonly method: string;
  /** Without `_meta`. */
  readonly params: JsonObject;
  /**
   * The request's `_meta`, in the modern form for both eras: with what the client is and can
   * (`io.modelcontextprotocol/clientInfo`, `/clientCapabilities`), `/logLevel` where it wants log messages, its trace
   * context and whatever else it sent; without its protocol version and its progress token.
   */
  readonly meta: JsonObject;
}

export interface PeerWay {
  /** Aborted when the client cancelled, or the call must end. The server is told in its own era's manner. */
  readonly signal: AbortSignal;
  /** `notifications/progress` without its token; `null` where the client asked for none. */
  readonly onProgress: ((params: JsonObject) => void) | null;
  /** Every other notification that belongs to the request, log messages above all. */
  readonly onNotification: (notification: PeerNotification) => void;
  /** What a legacy server asks of the client while it serves this request: sampling, elicitation, roots. */
  readonly onRequest: (asked: ServerRequest) => Promise<ClientAnswer>;
}

export interface PeerNotification {
  readonly method: string;
  readonly params: JsonObject;
}

export interface ServerRequest {
  readonly method: string;
  readonly params: JsonObject;
  /** Aborted when the server takes its question back, or the request ended. */
  readonly signal: AbortSignal;
}

export type ClientAnswer = { readonly result: JsonObject } | { readonly error: RpcError };

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** What came of a request. A `failure` is what the gate has to say of a server that gave no answer. */
export type PeerAnswer =
  /** As the server's era has it: `resultType` and all, or none of it. */
  | { readonly result: JsonObject; readonly era: Era }
  | { readonly error: RpcError; readonly era: Era }
  | { readonly failure: PeerFailure; readonly message: string }
  | McpRefusal;

/** Why a server gave no answer; the words are those of the side towards servers, beside what the gate itself refuses. */
export type PeerFailure = string;

/** As `subscriptions/listen` writes it; `'all'` for a legacy client's stream, which gets whatever comes. */
export type PeerFilter =
  | 'all'
  | {
      readonly toolsListChanged?: boolean;
      readonly promptsListChanged?: boolean;
      readonly resourcesListChanged?: boolean;
      readonly resourceSubscriptions?: readonly string[];
      /** Of the tasks extension, and what comes later. */
      readonly [other: string]: unknown;
    };

export interface PeerSubscription {
  close(): void;
}
