/** The side of MCP towards clients, put together. */
import type { SealKey } from '../../../core-lite/vault/seal.ts';
import type { Gate } from '../../gate.ts';
import type { Letters } from '../letters.ts';
import type { McpWay } from '../way.ts';
import type { Downstream } from './context.ts';
import { HeldCalls } from './held-calls.ts';
import { KeptStreams } from './kept-streams.ts';
import { takeLetter } from './legacy-letters.ts';
import { LegacyMemory } from './legacy-memory.ts';
import { CALL_LIMITS, OpenStreams, STREAM_LIMITS } from './open-streams.ts';
import { RemoteRounds } from './remote-rounds.ts';
import type { SessionStore } from './session-store.ts';

export interface McpDownstream extends Downstream {
  /** Ends what has no end of its own, so that nobody waits for it when the gate shuts down. */
  endStreams(): void;
  close(): void;
}

export interface DownstreamOptions {
  readonly gate: Pick<Gate, 'facts' | 'calls' | 'record' | 'now'>;
  readonly way: McpWay;
  readonly seal: SealKey;
  readonly replica: string;
  readonly letters: Letters;
  readonly store: SessionStore;
}

export function makeDownstream({
  gate,
  way,
  seal,
  replica,
  letters,
  store,
}: DownstreamOptions): McpDownstream {
  const memory = new LegacyMemory(store);
  const kept = new KeptStreams();
  const held = new HeldCalls();
  const streams = new OpenStreams(STREAM_LIMITS);
  const running = new OpenStreams(CALL_LIMITS);
  const rounds = new RemoteRounds(letters, replica, held);
  letters.receive((letter) => void takeLetter(memory, rounds, letter).catch(gate.record.failure));
  return {
    ...{ gate, way, seal, replica, letters, memory, kept, held, rounds, streams, running },
    endStreams: () => streams.close(),
    close: () => {
      streams.close();
      held.close();
      kept.close();
    },
  };
}
