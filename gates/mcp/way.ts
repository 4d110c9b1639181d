/**
 * What stands between the two sides of MCP at the gates: the side towards clients asks a way for a peer, and the peer
 * answers like one server, whatever stands behind it: one declared server, or all of the session's merged. A peer shows
 * only what the manifest declares, starts and records each request, and changes nothing that it does not have to.
 */
import type { SessionFacts } from '../../core-lite/state/session.ts';
import type { RefusalDetail } from '../answer.ts';
import type { Call } from '../calls.ts';
import type { RefusalReason, StopReason } from '../reasons.ts';
import type { Answer, JsonObject } from './messages.ts';
import type { Failed } from './upstream/failures.ts';
import type { Asked, Filter, ServerNotification, Subscription, Way } from './upstream/server.ts';

export interface McpWay {
  /**
   * Whom a call of this session may talk to. Each request, notification and stream of a client is a call of its own
   * and opens its own peer; what is behind it is shared. Rejects with a Fault only.
   */
  open(asked: McpCaller): Promise<McpPeer | McpRefusal | Failed>;
}

export interface McpCaller {
  readonly call: Call;
  readonly session: SessionFacts;
  /** As the path names it; `null` for all of the manifest's, merged. */
  readonly server: string | null;
}

/** The gate itself refuses: an HTTP error, or an error of the message where its answer has begun. */
export interface McpRefusal {
  readonly refusal: RefusalReason | StopReason;
  readonly detail?: RefusalDetail;
}

/** What comes of a request. */
export type PeerOutcome = Answer | Failed | McpRefusal;

/** What a server says of itself, but for what the manifest takes away. */
export interface PeerAbout {
  readonly capabilities: JsonObject;
  readonly serverInfo: JsonObject;
  readonly instructions: string | null;
}

export interface McpPeer {
  readonly about: PeerAbout;
  /**
   * The server's answer as its era has it. Never rejects but with a Fault. It is never asked for what belongs to one
   * era's client alone: `initialize`, `server/discover`, `ping`, `logging/setLevel`, `resources/subscribe`,
   * `resources/unsubscribe`, `subscriptions/listen`.
   */
  request(asked: Asked, way: Way): Promise<PeerOutcome>;
  /** A notification of the client that is no cancellation: `notifications/roots/list_changed`, and what nobody knows. */
  notify(method: string, params: JsonObject): Promise<void>;
  /** Until it is closed or the peer's call is stopped. */
  subscribe(filter: PeerFilter, on: (said: ServerNotification) => void, onEnd?: () => void): Subscription;
  /** The input schema of a tool as the session was last shown it; `null` where it was not. */
  inputSchema(tool: string): object | null;
}

export interface PeerFilter extends Filter {
  /** A legacy client's stream: also what nobody has to ask for, such as `notifications/elicitation/complete`. */
  readonly unasked?: boolean;
}
