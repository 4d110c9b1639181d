/**
 * The gates' side towards MCP clients, over real sockets, in front of a peer that the test plays: several gates of one
 * installation (one class key), which may be stopped and started again, and run tokens of its sessions.
 */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { type CryptoKey, exportJWK, importJWK } from 'jose';
import type { ChangeFeed } from '../../core-lite/database/changes.ts';
import type { SessionFacts } from '../../core-lite/state/session.ts';
import { mintToken } from '../../core-lite/tokens/mint.ts';
import type { VerifyingKeys } from '../../core-lite/tokens/signing-keys.ts';
import { TokenCache } from '../../core-lite/tokens/token-cache.ts';
import { SealKey } from '../../core-lite/vault/seal.ts';
import { BodyRoom } from '../../gates/body-room.ts';
import { Calls } from '../../gates/calls.ts';
import type { Facts } from '../../gates/facts.ts';
import type { Gate } from '../../gates/gate.ts';
import { buildListener } from '../../gates/listen.ts';
import { makeDownstream } from '../../gates/mcp/downstream/downstream.ts';
import { addMcpRoutes } from '../../gates/mcp/downstream/routes.ts';
import type { SessionSettings, SessionStore } from '../../gates/mcp/downstream/session-store.ts';
import { ALL_GATES, type Letter, type Letters } from '../../gates/mcp/letters.ts';
import type { McpWay } from '../../gates/mcp/way.ts';
import type { Recorder } from '../../gates/record.ts';

export interface McpStand {
  /** Who is open: what is not here does not exist. */
  readonly sessions: Map<string, SessionFacts>;
  /** What was refused, in order, and every fault. */
  readonly refused: string[];
  readonly faults: unknown[];
  /** A token of the session's active turn. */
  token(session?: string): Promise<string>;
  /** Tells every gate that a session changed. */
  changed(session: string): void;
  /** One more gate of the same installation. @param port where one stood before */
  gate(port?: number): Promise<StandGate>;
  close(): Promise<void>;
}

export interface StandGate {
  readonly port: number;
  readonly url: (server?: string) => URL;
  readonly calls: Calls;
  stop(): Promise<void>;
}

export const SESSION = 'ses_019c0000000070008000000000000001';
export const OTHER_SESSION = 'ses_019c0000000070008000000000000002';

export async function startMcpStand(way: McpWay): Promise<McpStand> {
  const { keys, sign } = await makeSigner();
  const seal = new SealKey('00c0ffee', randomBytes(32));
  const sessions = new Map([SESSION, OTHER_SESSION].map((id) => [id, factsOf(id)]));
  const refused: string[] = [];
  const faults: unknown[] = [];
  const heard: ((id: string) => void)[] = [];
  const gates = new Set<StandGate>();
  const facts = {
    keys: async () => keys,
    session: async (id: string) => sessions.get(id) ?? null,
  } as unknown as Facts;
  const record = {
    refusal: (reason: string) => refused.push(reason),
    failure: (fault: unknown) => void faults.push(fault),
  } as unknown as Recorder;
  const feed = {
    live: true,
    subscribe: ({ change }: { change: (change: object) => void }) =>
      heard.push((id) => change({ kind: 'session', id })),
  } as unknown as ChangeFeed;

  const saved = new Map<string, SessionSettings>();
  const store: SessionStore = {
    load: async (key) => saved.get(key) ?? null,
    save: async (key, _session, settings) => void saved.set(key, settings),
  };
  const boxes = new Map<string, (letter: Letter) => void>();
  const lettersOf = (replica: string): Letters => ({
    receive: (take) => void boxes.set(replica, take),
    send: async (to, letter) => {
      for (const [name, take] of boxes) if (to === name || to === ALL_GATES) take(letter);
    },
  });

  const start = async (port = 0): Promise<StandGate> => {
    const calls = new Calls({ feed, facts, graceMs: 1_000 });
    const gate = {
      facts,
      calls,
      record,
      now: () => new Date(),
      tokens: new TokenCache('run'),
      room: new BodyRoom(),
    } as unknown as Gate;
    const replica = `rep_${randomBytes(4).toString('hex')}`;
    const down = makeDownstream({ gate, way, seal, replica, letters: lettersOf(replica), store });
    const app = buildListener({ gate, hosts: [] });
    addMcpRoutes(app, gate, down, new Set(['localhost', '127.0.0.1', '[::1]']));
    await app.listen({ host: '127.0.0.1', port });
    const address = app.server.address() as AddressInfo;
    const made: StandGate = {
      port: address.port,
      url: (server) =>
        new URL(`http://127.0.0.1:${address.port}/mcp${server === undefined ? '' : `/${server}`}`),
      calls,
      stop: async () => {
        gates.delete(made);
        down.endStreams();
        calls.stopAll();
        down.close();
        app.server.closeAllConnections();
        await app.close();
      },
    };
    gates.add(made);
    return made;
  };

  return {
    sessions,
    refused,
    faults,
    token: (session = SESSION) => sign(session, sessions.get(session)?.activeTurn ?? TURN),
    changed: (id) => {
      for (const hear of heard) hear(id);
    },
    gate: start,
    close: async () => {
      for (const gate of [...gates]) await gate.stop();
    },
  };
}

async function makeSigner() {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const kid = 'stand';
  const jwk = { ...(await exportJWK(publicKey)), alg: 'ES256' };
  const key = (await importJWK(jwk, 'ES256')) as CryptoKey;
  const keys: VerifyingKeys = { tenantId: 'stand', byKid: new Map([[kid, key]]) };
  const sign = async (session: string, turn: string): Promise<string> => {
    const claims = { sub: session, trn: turn, agt: 'agent', epc: 1 };
    const { token } = await mintToken('run', claims, { kid, privateKey }, 'stand', new Date());
    return token.reveal();
  };
  return { keys, sign };
}

function factsOf(id: string): SessionFacts {
  return {
    id,
    environmentId: null,
    leaseEpoch: 1,
    activeTurn: TURN,
    ended: false,
    agent: 'agent',
    user: null,
    manifest: { models: null, httpTools: {} } as SessionFacts['manifest'],
  };
}

const TURN = 'trn_019c0000000070008000000000000003';
