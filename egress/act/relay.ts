/**
 * One exchange: the client's request to the origin and the answer back, both streamed with backpressure and neither
 * changed but for its head. Bytes that break their framing stop everything; an answer that breaks off is broken off at
 * the client too, never ended cleanly.
 */
import type { Socket } from 'node:net';
import type { Allow } from '../../core-lite/decision.ts';
import { makeBodyReader } from '../http1/body.ts';
import type { BodyReader } from '../http1/body-reader.ts';
import type { ByteReader } from '../http1/byte-reader.ts';
import { dropConnectionHeaders } from '../http1/connection-headers.ts';
import { type Framing, responseFraming } from '../http1/framing.ts';
import {
  type HeaderLine,
  headerValues,
  parseResponseHead,
  type RequestHead,
  type ResponseHead,
} from '../http1/head.ts';
import { isWebSocket, upgradeHeaders } from '../http1/upgrade.ts';
import { writeResponseHead } from '../http1/write-head.ts';
import { reset } from './reset.ts';

/** One side of the exchange. */
export interface Side {
  readonly socket: Socket;
  readonly reader: ByteReader;
}

export interface ExchangeInput {
  readonly head: RequestHead;
  readonly framing: Framing;
  /** The head that the origin gets, secret and all. */
  readonly originHead: Buffer;
  readonly keepTrailer: (line: HeaderLine) => boolean;
  /** Whether the request asks for a WebSocket: then a 101 is an answer to it. */
  readonly webSocket: boolean;
  /** Whether a proxy with a login of our own stands between: its 407 is no answer to the client. */
  readonly viaProxy?: boolean;
  /** Asked of a 401 before the client sees any of it: whether it is passed on. Never rejects. */
  readonly passUnauthorized?: () => Promise<boolean>;
}

/**
 * `unanswered`: the origin went away before it answered; `invalid`: what it answered is no answer; `malformed`: the
 * client broke the framing of its body; `proxy_login`: the proxy between refused ours. Nothing of an answer was written
 * to the client.
 */
interface Unanswered {
  readonly kind: 'unanswered' | 'invalid' | 'malformed' | 'proxy_login';
  readonly bytesUp: number;
}

export type ExchangeOutcome =
  | Unanswered
  /** A 401 that was not passed on; the origin's connection cannot be used any more. */
  | { readonly kind: 'withheld'; readonly bytesUp: number; readonly bytesDown: number }
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly bytesUp: number;
      readonly bytesDown: number;
      readonly complete: boolean;
      /** Whether it was the client that broke it off. */
      readonly left: boolean;
      readonly keepClient: boolean;
      readonly keepOrigin: boolean;
    };

/** Never rejects. Where the answer broke off, the client's side is destroyed already. */
export function relay(
  proof: Allow,
  input: ExchangeInput,
  client: Side,
  origin: Side,
): Promise<ExchangeOutcome> {
  return new Exchange(proof, input, client, origin).run();
}

class Exchange {
  readonly #input: ExchangeInput;
  readonly #client: Side;
  readonly #origin: Side;
  readonly #requestBody: BodyReader;
  /** On the origin's connection: heads and bodies. */
  #bytesUp = 0;
  #bytesDown = 0;
  #broken = false;
  #malformed = false;

  constructor(_proof: Allow, input: ExchangeInput, client: Side, origin: Side) {
    this.#input = input;
    this.#client = client;
    this.#origin = origin;
    this.#requestBody = makeBodyReader(input.framing, input.keepTrailer);
  }

  async run(): Promise<ExchangeOutcome> {
    const onClientGone = () => this.#breakOff();
    this.#client.socket.once('close', onClientGone);
    try {
      this.#bytesUp += this.#input.originHead.length;
      this.#origin.socket.write(this.#input.originHead);
      const sending = this.#sendRequest();
      const outcome = await this.#receive();
      // An early answer ends the exchange; what the client still sends is not read any more.
      if (outcome.kind === 'answered' && this.#requestBody.done) await sending;
      return outcome;
    } finally {
      this.#client.socket.removeListener('close', onClientGone);
    }
  }

  async #sendRequest(): Promise<void> {
    const { reader } = this.#client;
    while (!this.#requestBody.done) {
      const chunk = await reader.next();
      if (typeof chunk === 'string') return this.#breakOff();
      const step = this.#requestBody.read(chunk);
      if (!step) {
        this.#malformed = true;
        return this.#breakOff();
      }
      if (step.used < chunk.length) reader.unread(chunk.subarray(step.used));
      for (const part of step.forward) {
        this.#bytesUp += part.length;
        if (!(await send(this.#origin.socket, part))) return;
      }
    }
  }

  /** The request cannot be completed: the origin must not take a part of it for the whole. */
  #breakOff(): void {
    this.#broken = true;
    this.#origin.socket.destroy();
  }

  async #receive(): Promise<ExchangeOutcome> {
    for (let informational = 0; informational <= MAX_INFORMATIONAL; informational++) {
      const head = await this.#nextHead();
      if ('kind' in head) return head;
      if (head.status === 101) return this.#switch(head);
      if (head.status >= 200) return this.#answer(head);
      if (this.#input.head.minor === 1) await send(this.#client.socket, clientHead(head, false));
    }
    return this.#failed('invalid');
  }

  async #nextHead(): Promise<ResponseHead | Unanswered> {
    const bytes = await this.#origin.reader.head(MAX_HEAD_BYTES);
    if (bytes === 'end' || bytes === 'broken')
      return this.#failed(this.#malformed ? 'malformed' : 'unanswered');
    if (bytes === 'too_large') return this.#failed('invalid');
    this.#bytesDown += bytes.length;
    const head = parseResponseHead(bytes);
    if (!head) return this.#failed('invalid');
    return head.status === 407 && this.#input.viaProxy ? this.#failed('proxy_login') : head;
  }

  #failed(kind: Unanswered['kind']): Unanswered {
    return { kind, bytesUp: this.#bytesUp };
  }

  async #isWithheld({ status }: ResponseHead): Promise<boolean> {
    const passes = this.#input.passUnauthorized;
    return status === 401 && passes !== undefined && !(await passes());
  }

  #withhold(): ExchangeOutcome {
    this.#origin.socket.destroy();
    return { kind: 'withheld', bytesUp: this.#bytesUp, bytesDown: this.#bytesDown };
  }

  async #answer(head: ResponseHead): Promise<ExchangeOutcome> {
    if (await this.#isWithheld(head)) return this.#withhold();
    const framing = responseFraming(head, this.#input.head.method);
    if (!framing) return this.#failed('invalid');
    // An HTTP/1.0 client cannot read chunks: it gets what is in them, and its connection ends with it.
    const bare = framing.kind === 'chunked' && this.#input.head.minor === 0;
    const keepClient = !bare && this.#mayKeepClient(framing);
    await send(this.#client.socket, clientHead(bare ? withoutFraming(head) : head, !keepClient));
    const complete = await this.#receiveBody(framing, bare);
    const sent = this.#requestBody.done && !this.#broken;
    const alive = framing.kind !== 'until_close' && keepsAlive(head.minor, head.headers);
    return this.#answered(head.status, complete, keepClient && sent, alive && sent);
  }

  async #answered(
    status: number,
    complete: boolean,
    keepClient: boolean,
    keepOrigin: boolean,
  ): Promise<ExchangeOutcome> {
    if (!complete) await breakOff(this.#client.socket);
    return {
      kind: 'answered',
      status,
      bytesUp: this.#bytesUp,
      bytesDown: this.#bytesDown,
      complete,
      left: this.#broken,
      keepClient: keepClient && complete,
      keepOrigin: keepOrigin && complete,
    };
  }

  /** A 101. Where nobody asked to switch protocols it is not passed on; a WebSocket is opaque bytes from here on. */
  async #switch(head: ResponseHead): Promise<ExchangeOutcome> {
    if (!this.#input.webSocket || !isWebSocket(head)) return this.#failed('invalid');
    const headers = upgradeHeaders(head.headers);
    await send(this.#client.socket, writeResponseHead({ ...head, headers }, false));
    const [up, down] = await Promise.all([
      pass(this.#client.reader, this.#origin.socket, (bytes) => {
        this.#bytesUp += bytes;
      }),
      pass(this.#origin.reader, this.#client.socket, (bytes) => {
        this.#bytesDown += bytes;
      }),
    ]);
    return this.#answered(head.status, up && down, false, false);
  }

  #mayKeepClient(framing: Framing): boolean {
    const { minor, headers } = this.#input.head;
    return framing.kind !== 'until_close' && this.#requestBody.done && keepsAlive(minor, headers);
  }

  /** @returns whether the body came to its end */
  async #receiveBody(framing: Framing, bare: boolean): Promise<boolean> {
    const body = makeBodyReader(framing, () => true, bare);
    const { reader } = this.#origin;
    while (!body.done) {
      const chunk = await reader.next();
      if (typeof chunk === 'string') return framing.kind === 'until_close' && chunk === 'end';
      const step = body.read(chunk);
      if (!step) return false;
      if (step.used < chunk.length) reader.unread(chunk.subarray(step.used));
      for (const part of step.forward) {
        this.#bytesDown += part.length;
        if (!(await send(this.#client.socket, part))) return false;
      }
    }
    return true;
  }
}

/** Opaque bytes one way, to their end; half-close is kept. @returns whether they ended cleanly */
async function pass(from: ByteReader, to: Side['socket'], count: (bytes: number) => void): Promise<boolean> {
  for (;;) {
    const chunk = await from.next();
    if (chunk === 'end') to.end();
    if (chunk === 'broken') to.destroy();
    if (typeof chunk === 'string') return chunk === 'end';
    count(chunk.length);
    if (!(await send(to, chunk))) return false;
  }
}

/** @param close whether the client's connection ends with it */
function clientHead(head: ResponseHead, close: boolean): Buffer {
  return writeResponseHead({ ...head, headers: dropConnectionHeaders(head.headers) }, close);
}

/** What is on its way is written first; then the connection ends without the end that its TLS would have. */
async function breakOff(socket: Side['socket']): Promise<void> {
  if (!socket.destroyed && !socket.writableEnded) {
    await new Promise<void>((resolve) => {
      socket.once('close', resolve);
      socket.write(Buffer.alloc(0), () => resolve());
    });
  }
  reset(socket);
}

function withoutFraming(head: ResponseHead): ResponseHead {
  return { ...head, headers: head.headers.filter(({ name }) => !FRAMING.has(name)) };
}

/** Writes and waits until more may be written. @returns `false` where the other side is gone */
async function send(socket: Side['socket'], bytes: Buffer): Promise<boolean> {
  if (socket.destroyed || !socket.writable) return false;
  if (socket.write(bytes)) return true;
  await new Promise<void>((resolve) => {
    const done = () => {
      socket.removeListener('drain', done);
      socket.removeListener('close', done);
      resolve();
    };
    socket.once('drain', done);
    socket.once('close', done);
  });
  return !socket.destroyed;
}

/** RFC 9112 9.3. */
function keepsAlive(minor: number, headers: readonly HeaderLine[]): boolean {
  const options = headerValues(headers, 'connection').flatMap((value) => value.toLowerCase().split(','));
  const names = new Set(options.map((name) => name.trim()));
  return minor === 1 ? !names.has('close') : names.has('keep-alive');
}

const FRAMING = new Set(['transfer-encoding', 'trailer']);
const MAX_HEAD_BYTES = 64 * 1024;
/** More than any server sends; a flood of them is no answer. */
const MAX_INFORMATIONAL = 32;
