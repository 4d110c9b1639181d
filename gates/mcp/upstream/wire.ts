/** How messages get to a server and back, whatever transport it has. What they mean is not known here. */
import type { Answer, RpcMessage, RpcNotification, RpcRequest, RpcResponse } from '../messages.ts';
import type { Failed } from './failures.ts';

export interface Wire {
  /** As the server named it; `null` where it names none, or nobody else could use it. */
  readonly sessionId: string | null;
  /** Its session has ended with its connection. */
  readonly over: boolean;
  /** For all that is sent from now on. */
  protocolVersion: string | null;
  /** Resolves to the answer. What else comes because of it goes to `onMessage`. Once aborted, the answer is not waited for. */
  ask(request: RpcRequest, way: WireWay): Promise<Answer | Failed>;
  /** @returns why it could not be told, or `null` */
  tell(message: RpcNotification | RpcResponse, signal: AbortSignal): Promise<Failed | null>;
  /** What comes without having been asked for, until it is closed. */
  listen(onMessage: OnMessage): Listening;
  /** Tells the server that its session is over, where it has one. */
  end(signal: AbortSignal): Promise<void>;
  close(): void;
}

export type OnMessage = (message: RpcMessage) => void;

export interface WireWay {
  readonly signal: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
  readonly onMessage: OnMessage;
  readonly beforeSend?: () => Promise<boolean>;
}

export interface Listening {
  close(): void;
}
