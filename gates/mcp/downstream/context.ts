/** What serving a client works with, and the first stages of each message: who asks, what is true of the run now, which peer. */
import type { ServerResponse } from 'node:http';
import { decideRunStaleness } from '../../../core-lite/state/session.ts';
import type { SealKey } from '../../../core-lite/vault/seal.ts';
import type { Call, RunToken } from '../../calls.ts';
import type { Gate } from '../../gate.ts';
import type { Letters } from '../letters.ts';
import type { Failed } from '../upstream/failures.ts';
import type { McpPeer, McpRefusal, McpWay } from '../way.ts';
import type { HeldCalls } from './held-calls.ts';
import type { KeptStreams } from './kept-streams.ts';
import type { LegacyMemory } from './legacy-memory.ts';
import type { OpenStreams } from './open-streams.ts';
import type { RemoteRounds } from './remote-rounds.ts';

export interface Downstream {
  readonly gate: Pick<Gate, 'facts' | 'calls' | 'record' | 'now'>;
  readonly way: McpWay;
  /** The gates' class key. */
  readonly seal: SealKey;
  /** This gate's name among all. */
  readonly replica: string;
  readonly memory: LegacyMemory;
  readonly kept: KeptStreams;
  readonly held: HeldCalls;
  readonly rounds: RemoteRounds;
  readonly streams: OpenStreams;
  /** Calls that run. */
  readonly running: OpenStreams;
  readonly letters: Letters;
}

/** A message that was read off its connection and authenticated. */
export interface Arrival {
  readonly token: RunToken;
  /** As the path names it; `null` for `/mcp`. */
  readonly server: string | null;
  readonly source: string;
  readonly userAgent: string;
  readonly headers: readonly string[];
}

export interface Begun {
  readonly call: Call;
  /** It is over. */
  readonly end: () => void;
}

/** Registers a call, if the run may have one more. @param response `null` for one that outlives its client's connection */
export function beginCall(
  { gate, running }: Downstream,
  { token, source }: Arrival,
  response: ServerResponse | null,
): Begun | null {
  const leave = running.enter(token.claims.sub, () => {});
  if (!leave) {
    gate.record.refusal('mcp_busy', source);
    return null;
  }
  const call = gate.calls.begin(token, gate.now(), response);
  const end = (): void => {
    gate.calls.end(call);
    leave();
  };
  return { call, end };
}

/** The peer, or why there is none, which is counted. */
export async function openPeer(
  down: Downstream,
  call: Call,
  { server, source }: Pick<Arrival, 'server' | 'source'>,
): Promise<McpPeer | McpRefusal | Failed> {
  const opened = await judgeAndOpen(down, call, server);
  if ('refusal' in opened && opened.refusal !== 'client_left') {
    down.gate.record.refusal(opened.refusal, source);
  }
  return opened;
}

async function judgeAndOpen(
  { gate, way }: Downstream,
  call: Call,
  server: string | null,
): Promise<McpPeer | McpRefusal | Failed> {
  const { claims } = call.token;
  const session = await gate.facts.session(claims.sub).catch(() => undefined);
  if (session === undefined) return { refusal: 'facts_unavailable' };
  // What was minted here names a session that is there, if only as an ended one.
  if (!session) return { refusal: 'token_untrusted' };
  if (decideRunStaleness(claims, session)) return { refusal: 'run_stale' };
  return way.open({ call, session, server });
}
