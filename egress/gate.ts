/** What the ways of egress work with: made once by `main.ts`, passed along, never reached for. */
import type { Socket } from 'node:net';
import type { Logger } from '../core-lite/log.ts';
import type { Nat64Prefix } from '../core-lite/network/nat64.ts';
import type { OpenNetwork } from '../core-lite/network/open-network.ts';
import type { Resolver } from '../core-lite/network/resolve.ts';
import type { Target } from '../core-lite/network/target.ts';
import type { SecretReader } from '../core-lite/vault/secret-reader.ts';
import type { Interceptor } from './act/intercept.ts';
import type { OriginTls } from './act/secure-origin.ts';
import type { Authenticator } from './authenticate.ts';
import type { Facts } from './facts.ts';
import type { SessionPool } from './http2/session-pool.ts';
import type { Metrics } from './metrics.ts';
import type { OriginPool } from './origin-pool.ts';
import type { Parent } from './parent/parent.ts';
import type { Recorder } from './record.ts';
import type { Registry } from './registry.ts';

export interface Gate {
  readonly authenticator: Authenticator;
  readonly facts: Facts;
  readonly secrets: SecretReader;
  readonly registry: Registry;
  readonly record: Recorder;
  readonly resolver: Resolver;
  readonly openNetworks: readonly OpenNetwork[];
  readonly nat64Prefixes: readonly Nat64Prefix[];
  readonly interceptor: Interceptor;
  readonly originTls: OriginTls;
  readonly pool: OriginPool;
  readonly sessions: SessionPool;
  /** The proxy that every origin is reached through; `null` where origins are dialled. */
  readonly parent: Parent | null;
  readonly tunnelIdleMs: number;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly now: () => Date;
}

/** A CONNECT that was read: a well-formed target, and where its bytes are. */
export interface Arrival {
  readonly socket: Socket;
  /** What the client sent right behind its head. */
  readonly head: Buffer;
  readonly target: Target;
  readonly credential: string | undefined;
  readonly source: string;
}
