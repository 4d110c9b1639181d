/** MCP at the gates, put together: clients on one side, the session's servers on the other. */
import type { ChangeFeed } from '../../core-lite/database/changes.ts';
import type { Queryable } from '../../core-lite/database/pool.ts';
import { McpTools } from '../../core-lite/record/mcp-tools.ts';
import type { SealKey } from '../../core-lite/vault/seal.ts';
import type { Gate } from '../gate.ts';
import { type McpDownstream, makeDownstream } from './downstream/downstream.ts';
import { DatabaseSessionStore } from './downstream/session-store.ts';
import { DatabaseLetters } from './letters.ts';
import { ServersWay } from './middle/servers-way.ts';

export interface McpOptions {
  readonly gate: Gate;
  readonly database: Queryable;
  readonly feed: ChangeFeed;
  /** The class key `gates`. */
  readonly seal: SealKey;
  /** This gate's name among all. */
  readonly replica: string;
}

export function openMcp({ gate, database, feed, seal, replica }: McpOptions): McpDownstream {
  const { failure: onFailure } = gate.record;
  return makeDownstream({
    ...{ gate, seal, replica },
    way: new ServersWay(gate, new McpTools(database)),
    letters: new DatabaseLetters({ db: database, feed, seal, replica, onFailure }),
    store: new DatabaseSessionStore(database, seal),
  });
}
