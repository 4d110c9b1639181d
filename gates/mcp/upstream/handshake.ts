/**
 * How a connection begins. A server is asked in the modern way first: what it answers tells its era, unless it is a 401,
 * a 403 or a fault of its own, which tell nothing. A legacy server is greeted with `initialize`, over Streamable HTTP
 * and, where it knows no such thing, over the transport of 2024-11-05.
 */
import { SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/client';
import { isJsonObject, type JsonObject, type RequestId, RPC, type RpcError } from '../messages.ts';
import { formRequest, MODERN_VERSION, OURSELVES, ownAsking } from './envelope.ts';
import type { Verdict } from './era-memory.ts';
import { type Failed, fail } from './failures.ts';
import type { FetchOptions } from './pinned-fetch.ts';
import type { About, ClientFacts } from './server.ts';
import { SseWire } from './sse-wire.ts';
import { StreamableWire } from './streamable-wire.ts';
import type { OnMessage, Wire } from './wire.ts';

/** A server that was met. */
export interface Met {
  readonly verdict: Verdict;
  readonly about: About;
  readonly wire: Wire;
}

export interface Meeting {
  readonly fetch: FetchOptions;
  readonly transport: 'auto' | 'streamable-http' | 'sse';
  readonly client: ClientFacts;
  /** What was found before; `null` to find out. */
  readonly known: Verdict | null;
  readonly nextId: () => RequestId;
  readonly signal: AbortSignal;
}

/** Never rejects but for faults of our own. */
export async function meet(meeting: Meeting): Promise<Met | Failed> {
  const { transport, known } = meeting;
  if (transport === 'sse' || (known?.kind === 'sse' && transport === 'auto')) return meetSse(meeting);
  if (known?.kind === 'modern') return asModern(meeting, known.about);
  if (known?.kind !== 'legacy') {
    const found = await discover(meeting);
    if (found !== 'legacy') return found;
  }
  return meetLegacy(meeting);
}

async function discover(meeting: Meeting): Promise<Met | Failed | 'legacy'> {
  const { nextId, client, signal } = meeting;
  const request = formRequest(nextId(), ownAsking('server/discover', {}, client), MODERN_VERSION);
  const answer = await new StreamableWire(meeting.fetch).ask(request, { signal, onMessage: IGNORE });
  if ('failure' in answer && !isEvidence(answer)) return answer;
  const error = 'failure' in answer ? answer.http?.error : 'error' in answer ? answer.error : null;
  if (error && refusesVersion(error)) return fail('malformed', false, NO_COMMON_VERSION);
  if (!('result' in answer)) return 'legacy';
  const { supportedVersions, capabilities, instructions, _meta } = answer.result;
  if (!Array.isArray(supportedVersions) || !supportedVersions.includes(MODERN_VERSION)) return 'legacy';
  return asModern(meeting, {
    protocolVersion: MODERN_VERSION,
    capabilities: objectOf(capabilities),
    serverInfo: objectOf(objectOf(_meta)[SERVER_INFO]),
    instructions: typeof instructions === 'string' ? instructions : null,
  });
}

function asModern(meeting: Meeting, about: About): Met {
  return { verdict: { kind: 'modern', about }, about, wire: new StreamableWire(meeting.fetch) };
}

async function meetLegacy(meeting: Meeting): Promise<Met | Failed> {
  const wire = new StreamableWire(meeting.fetch);
  const greeted = await greet(meeting, wire);
  if (!('failure' in greeted)) return { verdict: { kind: 'legacy' }, about: greeted, wire };
  const unknown = NO_STREAMABLE.has(greeted.http?.status ?? 0);
  if (!unknown || meeting.transport !== 'auto') return greeted;
  const older = await meetSse(meeting);
  // What the newer transport said is the better reason where neither is there.
  return 'failure' in older && older.failure !== 'timeout' ? greeted : older;
}

async function meetSse(meeting: Meeting): Promise<Met | Failed> {
  const wire = new SseWire(meeting.fetch);
  const closed = await wire.open(meeting.signal);
  if (closed) return closed;
  const greeted = await greet(meeting, wire);
  if (!('failure' in greeted)) return { verdict: { kind: 'sse' }, about: greeted, wire };
  wire.close();
  return greeted;
}

async function greet({ nextId, client, signal }: Meeting, wire: Wire): Promise<About | Failed> {
  const [newest = ''] = SUPPORTED_PROTOCOL_VERSIONS;
  const params = {
    protocolVersion: newest,
    capabilities: client.capabilities,
    clientInfo: client.info ?? OURSELVES,
  };
  const request = { jsonrpc: '2.0', id: nextId(), method: 'initialize', params } as const;
  const answer = await wire.ask(request, { signal, onMessage: IGNORE });
  if ('failure' in answer) return answer;
  if ('error' in answer)
    return fail('malformed', false, `it refuses to begin, with error ${answer.error.code}`);
  const { protocolVersion, capabilities, serverInfo, instructions } = answer.result;
  if (typeof protocolVersion !== 'string' || !SUPPORTED_PROTOCOL_VERSIONS.includes(protocolVersion)) {
    return fail('malformed', false, NO_COMMON_VERSION);
  }
  wire.protocolVersion = protocolVersion;
  const untold = await wire.tell({ jsonrpc: '2.0', method: 'notifications/initialized' }, signal);
  if (untold) return untold;
  return {
    protocolVersion,
    capabilities: objectOf(capabilities),
    serverInfo: objectOf(serverInfo),
    instructions: typeof instructions === 'string' ? instructions : null,
  };
}

/** A 4xx of a server that knows no such request, or what is no MCP of today; not a server that lets nobody in, or is down. */
function isEvidence({ failure, http }: Failed): boolean {
  if (failure === 'malformed') return true;
  const status = failure === 'status' ? (http?.status ?? 0) : 0;
  return status >= 400 && status < 500 && !NO_EVIDENCE.has(status);
}

/** It is modern, and speaks no revision that we do. One that lists older ones only is greeted as legacy. */
function refusesVersion({ code, data }: RpcError): boolean {
  if (code !== RPC.unsupportedVersion) return false;
  const { supported } = objectOf(data);
  return Array.isArray(supported) && supported.every((version) => String(version) > NEWEST_LEGACY);
}

function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

const IGNORE: OnMessage = () => {};
const SERVER_INFO = 'io.modelcontextprotocol/serverInfo';
const NO_COMMON_VERSION = 'it speaks no revision of MCP that is spoken here';
const NEWEST_LEGACY = '2025-11-25';
/** 408 and 429 say that it was not the moment to ask. */
const NO_EVIDENCE: ReadonlySet<number> = new Set([401, 403, 407, 408, 425, 429]);
/** What a server of 2024-11-05 answers to a POST where it serves its stream. */
const NO_STREAMABLE: ReadonlySet<number> = new Set([400, 404, 405]);
