/**
 * The turn that `run` works in: opened or given, leased, kept by heartbeats, ended. What was opened here is ended here;
 * a session that was given stays open for its next turn.
 */
import { hostname } from 'node:os';
import type { Beat, RunTokens } from '../pod/renew.ts';
import { type Api, isRefusal, path } from './api.ts';
import { CommandError } from './command-error.ts';

/** What was typed. One of the three at least. */
export interface WantedTurn {
  readonly environment?: string | undefined;
  readonly agent?: string | undefined;
  readonly session?: string | undefined;
  readonly turn?: string | undefined;
}

export interface RunTurn {
  /** Of the session, by name. */
  readonly environment: string;
  readonly tokens: RunTokens;
  /** Rejects where core does not answer. */
  heartbeat(expiresAt: string): Promise<Beat>;
  /** Ends the turn, and the session if it was opened for it; leaves both to whoever has taken the lease over. */
  close(): Promise<void>;
}

/** Rejects with what core said, or what the session does not have; then what was opened is ended again. */
export async function takeTurn(api: Api, wanted: WantedTurn): Promise<RunTurn> {
  const { session, opened } = await findSession(api, wanted);
  try {
    const environment = requireEnvironment(session, wanted.environment);
    const turn = wanted.turn ?? (await startTurn(api, session.id));
    const lease = await api.call<LeaseAnswer>('POST', path`/v1/turns/${turn}/lease`, { holder: HOLDER });
    return leasedTurn({ api, environment, turn, lease, session: opened ? session.id : null });
  } catch (error) {
    if (opened) await endSession(api, session.id).catch(() => {});
    throw error;
  }
}

interface SessionAnswer {
  readonly id: string;
  readonly environment: string | null;
}

interface LeaseAnswer {
  readonly leaseEpoch: number;
  readonly runToken: string;
  readonly runTokenExpiresAt: string;
  readonly egressToken?: string;
}

async function findSession(
  api: Api,
  { environment, agent = DEFAULT_AGENT, session, turn }: WantedTurn,
): Promise<{ readonly session: SessionAnswer; readonly opened: boolean }> {
  const given = turn === undefined ? session : await sessionOf(api, turn);
  if (given === undefined) {
    const body = { agent, environment };
    return { session: await api.call<SessionAnswer>('POST', '/v1/sessions', body), opened: true };
  }
  if (session !== undefined && session !== given)
    throw new CommandError(`${turn} is no turn of ${session}`, null);
  return { session: await api.call<SessionAnswer>('GET', path`/v1/sessions/${given}`), opened: false };
}

async function sessionOf(api: Api, turn: string): Promise<string> {
  return (await api.call<{ sessionId: string }>('GET', path`/v1/turns/${turn}`)).sessionId;
}

async function startTurn(api: Api, session: string): Promise<string> {
  return (await api.call<{ id: string }>('POST', path`/v1/sessions/${session}/turns`)).id;
}

function requireEnvironment({ id, environment }: SessionAnswer, wanted: string | undefined): string {
  if (environment === null)
    throw new CommandError(
      `the session ${id} has no environment`,
      'open one with sallyport session open --env',
    );
  if (wanted !== undefined && wanted !== environment)
    throw new CommandError(
      `the session ${id} runs in ${environment}`,
      'leave --env out, or open another session',
    );
  return environment;
}

interface Leased {
  readonly api: Api;
  readonly environment: string;
  readonly turn: string;
  readonly lease: LeaseAnswer;
  /** The session to end. */
  readonly session: string | null;
}

function leasedTurn({ api, environment, turn, lease, session }: Leased): RunTurn {
  const { leaseEpoch, runToken, runTokenExpiresAt, egressToken } = lease;
  if (egressToken === undefined)
    throw new CommandError(
      'core gave no egress token',
      'look whether core and this command are of one version',
    );
  return {
    environment,
    tokens: { runToken, runTokenExpiresAt, egressToken },
    heartbeat: async (expiresAt) => {
      try {
        const body = { leaseEpoch, runTokenExpiresAt: expiresAt };
        return await api.call<Partial<RunTokens>>('POST', path`/v1/turns/${turn}/heartbeat`, body);
      } catch (error) {
        if (isRefusal(error, 'run_stale')) return 'stale';
        throw error;
      }
    },
    close: async () => {
      try {
        await api.call('POST', path`/v1/turns/${turn}/end`, { leaseEpoch });
      } catch (error) {
        if (!isRefusal(error, 'run_stale')) throw error;
        const { state } = await api.call<{ state: string }>('GET', path`/v1/turns/${turn}`);
        if (state === 'active') return;
      }
      if (session !== null) await endSession(api, session);
    },
  };
}

async function endSession(api: Api, session: string): Promise<void> {
  await api.call('POST', path`/v1/sessions/${session}/end`);
}

const DEFAULT_AGENT = 'cli';
/** Stands in lists of leases and in events. */
const HOLDER = `sallyport run on ${hostname()}, process ${process.pid}`.slice(0, 200);
