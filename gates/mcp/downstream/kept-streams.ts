/**
 * Streams of answers to legacy clients, kept so that a client whose connection broke can take one up behind the last
 * event that it saw. An event's id says which stream it is of and which request that answers, so that a gate which does
 * not know the stream (any more) can say so in the answer's place. Bounded in bytes, in number and in time.
 */
import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { RequestId, RpcMessage } from '../messages.ts';
import type { EventStream } from './event-stream.ts';

/** Where a client left off. */
interface Place {
  readonly stream: string;
  readonly event: number;
  readonly request: RequestId;
}

export class KeptStreams {
  readonly #streams = new Map<string, KeptStream>();
  #bytes = 0;

  /** @param owner whoever asked, and alone may take it up again */
  open(owner: string, request: RequestId): KeptStream {
    const name = randomBytes(9).toString('base64url');
    const stream = new KeptStream(owner, name, request, {
      grown: (bytes) => {
        this.#bytes += bytes;
        this.#makeRoom();
      },
      ended: () => setTimeout(() => this.#drop(name), KEEP_MS).unref(),
    });
    this.#streams.set(name, stream);
    this.#makeRoom();
    return stream;
  }

  /**
   * @returns the stream and the event to go on behind; the request whose answer is lost; or `null`: nothing of ours
   */
  find(owner: string, eventId: string): Found | null {
    const place = parsePlace(eventId);
    if (!place) return null;
    const stream = this.#streams.get(place.stream);
    return stream?.owner === owner ? { stream, after: place.event } : { lost: place.request };
  }

  close(): void {
    for (const name of [...this.#streams.keys()]) this.#drop(name);
  }

  #makeRoom(): void {
    for (const [name, stream] of this.#streams) {
      if (this.#bytes <= MAX_BYTES && this.#streams.size <= MAX_STREAMS) return;
      // Whoever reads it goes on reading; it only cannot be taken up again.
      if (stream.bytes > 0 || this.#streams.size > MAX_STREAMS) this.#drop(name);
    }
  }

  #drop(name: string): void {
    const stream = this.#streams.get(name);
    if (!stream) return;
    this.#streams.delete(name);
    this.#bytes -= stream.bytes;
    stream.forget();
  }
}

export type Found = { readonly stream: KeptStream; readonly after: number } | { readonly lost: RequestId };

interface Watcher {
  readonly grown: (bytes: number) => void;
  readonly ended: () => void;
}

export class KeptStream {
  readonly owner: string;
  readonly #name: string;
  readonly #request: RequestId;
  readonly #watcher: Watcher;
  readonly #events: { readonly message: RpcMessage; readonly number: number }[] = [];
  #reader: EventStream | null = null;
  #count = 0;
  #bytes = 0;
  #ended = false;
  #kept = true;

  constructor(owner: string, name: string, request: RequestId, watcher: Watcher) {
    this.owner = owner;
    this.#name = name;
    this.#request = request;
    this.#watcher = watcher;
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(message: RpcMessage): void {
    this.#count += 1;
    this.#reader?.send(message, this.#idOf(this.#count));
    if (!this.#kept) return;
    this.#events.push({ message, number: this.#count });
    const bytes = Buffer.byteLength(JSON.stringify(message));
    this.#bytes += bytes;
    this.#watcher.grown(bytes);
  }

  end(): void {
    this.#ended = true;
    this.#watcher.ended();
  }

  /** Whoever reads from now on, from behind the event `after`; whoever read before does not any more. */
  attach(reader: EventStream, response: ServerResponse, after = 0): void {
    this.#reader?.end();
    this.#reader = reader;
    response.once('close', () => {
      if (this.#reader === reader) this.#reader = null;
    });
    if (after === 0) reader.prime(this.#idOf(0), RETRY_MS);
    for (const { message, number } of this.#events) {
      if (number > after) reader.send(message, this.#idOf(number));
    }
    if (this.#ended) reader.end();
  }

  /** It cannot be taken up any more. */
  forget(): void {
    this.#kept = false;
    this.#events.length = 0;
    this.#bytes = 0;
  }

  #idOf(number: number): string {
    return Buffer.from(JSON.stringify([this.#name, number, this.#request])).toString('base64url');
  }
}

/** What a client sends may be anything. */
function parsePlace(eventId: string): Place | null {
  try {
    const parts: unknown = JSON.parse(Buffer.from(eventId, 'base64url').toString());
    if (!Array.isArray(parts) || parts.length !== 3) return null;
    const [stream, event, request] = parts as unknown[];
    if (typeof stream !== 'string' || typeof event !== 'number') return null;
    return typeof request === 'string' || typeof request === 'number' ? { stream, event, request } : null;
  } catch {
    return null;
  }
}

const KEEP_MS = 60_000;
const RETRY_MS = 1_000;
const MAX_STREAMS = 2_000;
const MAX_BYTES = 64 * 1024 * 1024;
