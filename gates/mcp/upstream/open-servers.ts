/** The connections to MCP servers, as the gates hold them. */
import type { ChangeFeed } from '../../../core-lite/database/changes.ts';
import type { Queryable } from '../../../core-lite/database/pool.ts';
import type { Logger } from '../../../core-lite/log.ts';
import { McpUpstreams } from '../../../core-lite/record/mcp-upstreams.ts';
import type { SealKey } from '../../../core-lite/vault/seal.ts';
import type { Upstreams } from '../../act/upstream.ts';
import type { Facts } from '../../facts.ts';
import { UpstreamServers } from './servers.ts';

export interface McpServersOptions {
  readonly database: Queryable;
  /** The class key `gates`. */
  readonly seal: SealKey;
  readonly feed: ChangeFeed;
  readonly facts: Facts;
  readonly upstreams: Upstreams;
  readonly log: Logger;
  readonly now: () => Date;
}

export function openMcpServers({ database, seal, facts, log, ...rest }: McpServersOptions): UpstreamServers {
  return new UpstreamServers({
    ...rest,
    records: new McpUpstreams(database, seal),
    hasEnded: async (id) => (await facts.session(id))?.ended ?? true,
    onFailure: (error) => log.warn({ err: error }, 'an MCP server’s connection could not be tended'),
  });
}
