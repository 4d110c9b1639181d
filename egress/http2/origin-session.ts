/**
 * One HTTP/2 session with an origin, shared by the clients of one scope. It says whether it can take another stream;
 * what the origin announces (streams at once, WebSockets, that it goes away) is followed.
 */
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type ClientSessionRequestOptions,
  connect,
} from 'node:http2';
import type { TLSSocket } from 'node:tls';
import type { Place } from '../origin-pool.ts';
import { endTogether } from './end-together.ts';
import { originSideOptions, widen } from './limits.ts';

export class OriginSession {
  readonly address: Place;
  /** Everything but the address that it may be used again for. */
  readonly scope: string;
  readonly #session: ClientHttp2Session;
  /** When its settings have come, or it is gone. */
  readonly #settled: Promise<void>;
  #streams = 0;
  #used = false;

  constructor(socket: TLSSocket, host: string, address: Place, scope: string) {
    this.address = address;
    this.scope = scope;
    endTogether(socket);
    const session = connect(`https://${host}`, { ...originSideOptions(), createConnection: () => socket });
    this.#session = session;
    session.on('error', ignore);
    session.once('connect', () => widen(session));
    this.#settled = new Promise((resolve) => {
      session.once('remoteSettings', () => resolve());
      session.once('close', () => resolve());
    });
  }

  /** Whether it takes new streams at all. */
  get fit(): boolean {
    return !this.#session.closed && !this.#session.destroyed;
  }

  /** Whether it takes one more now. */
  get hasRoom(): boolean {
    return this.fit && this.#streams < (this.#session.remoteSettings.maxConcurrentStreams ?? MOST_STREAMS);
  }

  get streams(): number {
    return this.#streams;
  }

  /** Whether an exchange went over it before: then it may die just as it is used again. */
  get used(): boolean {
    return this.#used;
  }

  /** Whether it takes WebSockets over streams. Waits for its settings, for a while. Never rejects. */
  async takesWebSockets(signal: AbortSignal): Promise<boolean> {
    await Promise.race([this.#settled, elapsed(SETTINGS_LIMIT_MS, signal)]);
    return this.fit && this.#session.remoteSettings.enableConnectProtocol === true;
  }

  /** @param onFree told when the stream is over */
  request(
    head: readonly string[],
    options: ClientSessionRequestOptions,
    onFree: () => void,
  ): ClientHttp2Stream {
    const stream = this.#session.request(head, options);
    this.#streams += 1;
    this.#used = true;
    stream.once('close', () => {
      this.#streams -= 1;
      onFree();
    });
    return stream;
  }

  onClose(listener: () => void): void {
    this.#session.once('close', listener);
  }

  /** No new streams; those under way are finished. */
  retire(): void {
    this.#session.close();
  }

  destroy(): void {
    this.#session.destroy();
  }
}

function elapsed(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    timer.unref();
    signal.addEventListener('abort', done, { once: true });
  });
}

function ignore(): void {}

/** An origin that says nothing of it sets no bound; nghttp2 assumes this many. */
const MOST_STREAMS = 100;
const SETTINGS_LIMIT_MS = 10_000;
