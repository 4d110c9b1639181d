/**
 * Begins a session's connection to a server, or takes it up from what is recorded: nothing is asked then. Where two
 * replicas begin at once, the one that is recorded first wins, and the other ends its own.
 */
import type { McpUpstreams, UpstreamPlace, UpstreamRecord } from '../../../core-lite/record/mcp-upstreams.ts';
import type { RequestId } from '../messages.ts';
import type { EraMemory } from './era-memory.ts';
import { type Failed, fail } from './failures.ts';
import { type Met, meet } from './handshake.ts';
import { isTooMuch, readAbout, readLink, writeAbout, writeLink } from './link-record.ts';
import { Live } from './live.ts';
import type { FetchOptions } from './pinned-fetch.ts';
import type { ClientFacts } from './server.ts';
import { StreamableWire } from './streamable-wire.ts';
import type { Wire } from './wire.ts';

export interface OpenerOptions {
  readonly place: UpstreamPlace;
  readonly fetch: FetchOptions;
  readonly transport: 'auto' | 'streamable-http' | 'sse';
  readonly records: McpUpstreams;
  readonly memory: EraMemory;
  readonly nextId: () => RequestId;
}

export class Opener {
  readonly #options: OpenerOptions;

  constructor(options: OpenerOptions) {
    this.#options = options;
  }

  /** @param signal ends it as `timeout` */
  async open(client: ClientFacts, signal: AbortSignal): Promise<Live | Failed> {
    const { records, place } = this.#options;
    const record = await records.load(place);
    const resumed = record && this.#resume(record);
    if (resumed) return resumed;
    const met = await this.#meet(client, signal);
    if ('failure' in met) return beforeAsking(met);
    const link = writeLink(met);
    const now = await this.#record(met, link, record);
    if (now?.link === link) return this.#liveOf(met.wire, now);
    await met.wire.end(AbortSignal.timeout(END_MS));
    // Another was first; or another has forgotten it at this moment, and whoever asks again begins anew.
    return (now && this.#resume(now)) ?? fail('unreachable', false);
  }

  /** What can be taken up; `null` where there is nothing. */
  async recorded(): Promise<Live | null> {
    const { records, place } = this.#options;
    const record = await records.load(place);
    return record && this.#resume(record);
  }

  /** The next time the server's era is found out. */
  async doubt(): Promise<void> {
    const key = await this.key();
    if (typeof key === 'string') this.#options.memory.forget(key);
  }

  /** Where the server is asked, and with which versions of which credentials. */
  async key(): Promise<string | Failed> {
    const { fetch, transport } = this.#options;
    const reach = await fetch.find();
    if ('failure' in reach) return reach;
    const held = reach.credentials.map(({ credential: { id, version } }) => `${id}@${version}`);
    return [transport, fetch.base.href, ...held].join(' ');
  }

  #resume(record: UpstreamRecord): Live | null {
    if (record.link === null) return null;
    const { kind, sessionId, protocolVersion } = readLink(record.link);
    // An old stream's session lives in the process that holds it.
    if (kind === 'sse') return null;
    const version = kind === 'modern' ? null : protocolVersion;
    return this.#liveOf(new StreamableWire(this.#options.fetch, sessionId, version), record);
  }

  #liveOf(wire: Wire, { discovery, link, generation }: UpstreamRecord): Live {
    return new Live({
      link: readLink(link ?? ''),
      about: readAbout(discovery),
      wire,
      generation,
      nextId: this.#options.nextId,
    });
  }

  #record(met: Met, link: string, before: UpstreamRecord | null): Promise<UpstreamRecord | null> {
    const { records, place } = this.#options;
    if (!before) return records.record(place, writeAbout(met.about), link);
    // Each process has an old stream's session of its own, under one record.
    if (before.link === link) return Promise.resolve(before);
    return records.relink(place, before.generation, link);
  }

  async #meet(client: ClientFacts, signal: AbortSignal): Promise<Met | Failed> {
    const { fetch, transport, memory, nextId } = this.#options;
    const key = await this.key();
    if (typeof key !== 'string') return key;
    const meeting = { fetch, transport, client, nextId, signal };
    const known = memory.recall(key);
    let met = await meet({ ...meeting, known });
    // What was known of it may not hold any more.
    if ('failure' in met && known && STALE.has(met.failure)) {
      memory.forget(key);
      met = await meet({ ...meeting, known: null });
    }
    if ('failure' in met) return met;
    if (isTooMuch(met.about)) return fail('too_large', false, 'in what it says of itself');
    memory.keep(key, met.verdict);
    return met;
  }
}

/** Whatever became of the greeting, the request behind it was not sent. */
function beforeAsking({ failure, ...said }: Failed): Failed {
  const plain = failure === 'lost' ? 'unreachable' : failure === 'stopped' ? 'timeout' : failure;
  return { ...said, failure: plain, mayHaveRun: false };
}

const STALE: ReadonlySet<string> = new Set(['status', 'malformed']);
const END_MS = 5_000;
