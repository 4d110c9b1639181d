/**
 * One client's socket at a listener: reads its head, hands it on, answers what is refused, and listens again where the
 * client may ask again. It never looks into what follows a head, and never holds more of it than came with the head.
 */
import type { Socket } from 'node:net';
import type { RefusalReason } from '../core-lite/reasons.ts';
import { hangUp, refuse } from './act/refuse.ts';
import type { Refused } from './admit.ts';
import type { Arrival } from './gate.ts';
import type { Answered, PlainArrival } from './handle-plain.ts';
import { ByteReader, HEAD_LIMIT_MS } from './http1/byte-reader.ts';
import { parseRequestHead, type RequestHead } from './http1/head.ts';
import { HeadScanner } from './http1/head-scanner.ts';
import { readConnect } from './read-connect.ts';
import { readPlain } from './read-plain.ts';

export interface Handlers {
  /** Serves a CONNECT; resolves to why not, or `null` after its tunnel. Never rejects. */
  readonly connect: (arrival: Arrival) => Promise<Refused | null>;
  /** Serves a plain request; resolves to why not, or when it was answered. Never rejects. */
  readonly plain: (arrival: PlainArrival) => Promise<Refused | Answered>;
  /** Told of every refusal of what could not be read. */
  readonly refused: (source: string, reason: RefusalReason) => void;
}

export class Client {
  readonly #socket: Socket;
  readonly #handlers: Handlers;
  readonly #scanner = new HeadScanner();
  readonly #source: string;
  readonly #onData = (chunk: Buffer): void => this.#read(chunk);
  readonly #onEnd = (): void => this.#leave();
  #attempts = 0;
  /** Since when it owes a head, milliseconds; `null` while it owes none. */
  #owesSince: number | null = null;
  /** Whether it was served, and may be silent for a while before it asks again. */
  #rests = false;

  constructor(socket: Socket, handlers: Handlers) {
    this.#socket = socket;
    this.#handlers = handlers;
    this.#source = socket.remoteAddress ?? 'unknown';
  }

  /** Whether nothing of it is being served. */
  get waits(): boolean {
    return this.#owesSince !== null;
  }

  /** Reads the next head. @param rest what came behind the last one */
  listen(rest: Buffer, nowMs: number): void {
    this.#owesSince = nowMs;
    this.#socket.on('data', this.#onData);
    this.#socket.on('end', this.#onEnd);
    if (rest.length > 0) this.#read(rest);
    // It may have ended while nobody listened.
    if (this.waits && this.#socket.readableEnded) this.#leave();
    if (this.waits) this.#socket.resume();
  }

  /** Lets go whoever has owed a head for too long: a client that drips one must not hold its place. */
  expire(nowMs: number): void {
    if (this.#owesSince === null) return;
    const silentMs = nowMs - this.#owesSince;
    if (this.#rests && silentMs >= REST_LIMIT_MS) this.#leave();
    else if (!this.#rests && silentMs >= HEAD_LIMIT_MS) this.#refuse('request_malformed');
  }

  #read(chunk: Buffer): void {
    if (this.#rests) {
      this.#rests = false;
      this.#owesSince = Date.now();
    }
    const scan = this.#scanner.push(chunk);
    if (scan === 'more') return;
    const head = scan === 'malformed' ? null : parseRequestHead(scan.head);
    if (scan === 'malformed' || !head) this.#refuse('request_malformed');
    else if (head.method === 'CONNECT') this.#connect(head, scan.rest);
    else void this.#plain(head, scan.rest);
  }

  #connect(head: RequestHead, rest: Buffer): void {
    const read = readConnect(head);
    if (typeof read === 'string') {
      this.#refuse(read);
      return;
    }
    this.#stopListening();
    const arrival = { socket: this.#socket, head: rest, source: this.#source, ...read };
    this.#serve(arrival, head.minor === 1);
  }

  /** Knows nothing of the head any more: it would be kept for as long as the tunnel lives. */
  #serve(arrival: Arrival, mayAskAgain: boolean): void {
    const rest = arrival.head;
    void this.#handlers.connect(arrival).then((refused) => {
      if (refused) this.#answer(refused, { mayAskAgain, isHead: false }, rest);
    });
  }

  async #plain(head: RequestHead, rest: Buffer): Promise<void> {
    const request = readPlain(head);
    if (typeof request === 'string') return this.#refuse(request);
    this.#stopListening();
    const reader = new ByteReader(this.#socket);
    reader.unread(rest);
    const client = { socket: this.#socket, reader };
    const end = await this.#handlers.plain({ client, request, source: this.#source });
    const left = reader.release();
    // A body that nobody read would be taken for the next head.
    const mayAskAgain = head.minor === 1 && request.framing.kind === 'none';
    if ('reason' in end) return this.#answer(end, { mayAskAgain, isHead: head.method === 'HEAD' }, left);
    if (!end.keepAlive) return hangUp(this.#socket, '');
    this.#rests = left.length === 0;
    this.listen(left, Date.now());
  }

  /**
   * git, Java and others ask without a token first and again, with it, on the same connection. Whoever sent one that is
   * refused is told that it is final: some clients wait for the close.
   */
  #answer(
    refused: Refused,
    { mayAskAgain, isHead }: { readonly mayAskAgain: boolean; readonly isHead: boolean },
    rest: Buffer,
  ): void {
    this.#attempts += 1;
    const keepAlive =
      mayAskAgain &&
      refused.reason === 'token_missing' &&
      this.#attempts <= MAX_ATTEMPTS &&
      this.#socket.writable;
    refuse(this.#socket, { ...refused, keepAlive, isHead });
    if (keepAlive) this.listen(rest, Date.now());
  }

  /** What is no request that is served here, or did not come in time. */
  #refuse(reason: RefusalReason): void {
    this.#stopListening();
    this.#handlers.refused(this.#source, reason);
    refuse(this.#socket, { reason, connectionId: null, keepAlive: false });
  }

  /** It has finished sending: cleanly, or in the middle of a head. */
  #leave(): void {
    if (this.#scanner.begun) {
      this.#refuse('request_malformed');
      return;
    }
    this.#stopListening();
    hangUp(this.#socket, '');
  }

  #stopListening(): void {
    this.#owesSince = null;
    this.#socket.off('data', this.#onData);
    this.#socket.off('end', this.#onEnd);
    // What comes from now on is kept for whoever reads on.
    this.#socket.pause();
  }
}

const MAX_ATTEMPTS = 4;
/** How long a client that was served may keep its connection without asking; less than origins are kept by most clients. */
const REST_LIMIT_MS = 60_000;
