/** What the ways through the gates work with. */

import type { OpenNetwork } from '../core-lite/network/open-network.ts';
import type { Crossings } from '../core-lite/record/crossings.ts';
import type { TokenCache } from '../core-lite/tokens/token-cache.ts';
import type { GateCredentials } from '../core-lite/vault/gate-credentials.ts';
import type { Upstreams } from './act/upstream.ts';
import type { BodyRoom } from './body-room.ts';
import type { Calls } from './calls.ts';
import type { Crosser } from './cross.ts';
import type { DecodePlaces } from './decode-places.ts';
import type { Facts } from './facts.ts';
import type { UpstreamServers } from './mcp/upstream/servers.ts';
import type { Recorder } from './record.ts';
import type { Starter } from './start.ts';

export interface Gate {
  readonly tokens: TokenCache<'run'>;
  readonly serviceTokens: TokenCache<'service'>;
  readonly facts: Facts;
  readonly credentials: GateCredentials;
  readonly calls: Calls;
  readonly room: BodyRoom;
  readonly decoding: DecodePlaces;
  readonly upstreams: Upstreams;
  readonly mcpServers: UpstreamServers;
  readonly openNetworks: readonly OpenNetwork[];
  /** How long a model may stay silent in a stream. */
  readonly streamIdleMs: number;
  readonly starter: Starter;
  readonly crossings: Crossings;
  readonly crosser: Crosser;
  readonly record: Recorder;
  readonly now: () => Date;
}
