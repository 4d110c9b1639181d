/**
 * One exchange: the client's request to the origin and the answer back, both streamed with backpressure and neither
 * changed but for its head and for the secrets that an answer echoes. Bytes that break their framing stop everything; an
 * answer that breaks off is broken off at the client too, never ended cleanly.
 */
import type { Allow } from '../../core-lite/decision.ts';
import { makeBodyReader } from '../http1/body.ts';
import type { BodyReader } from '../http1/body-reader.ts';
import { MAX_HEAD_BYTES } from '../http1/byte-reader.ts';
import { dropConnectionHeaders } from '../http1/connection-headers.ts';
import { type Framing, responseFraming } from '../http1/framing.ts';
import { type HeaderLine, headerValues, parseResponseHead, type ResponseHead } from '../http1/head.ts';
import { isWebSocket, upgradeHeaders } from '../http1/upgrade.ts';
import { writeResponseHead } from '../http1/write-head.ts';
import type { BodyScrubber, Cut } from '../scrub/body-scrubber.ts';
import { AnswerBody, type Shown, showAnswer, without } from './answer-body.ts';
import type { ExchangeInput, ExchangeOutcome, Side, Unanswered } from './exchange.ts';
import { keepAwake } from './keep-awake.ts';
import { breakOff, gather, pass, send } from './send.ts';

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
  #cut: Cut | null = null;

  constructor(_proof: Allow, input: ExchangeInput, client: Side, origin: Side) {
    this.#input = input;
    this.#client = client;
    this.#origin = origin;
    this.#requestBody = makeBodyReader(input.framing, (line) => (input.keepTrailer(line) ? line : null));
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
      // What frames a body has no place in a 1xx (RFC 9110 8.6, RFC 9112 6.1), and two readers might take it for two things.
      const shown = without(head, ['content-length', 'transfer-encoding']);
      if (this.#input.head.minor === 1) await send(this.#client.socket, this.#clientHead(shown, false));
    }
    return this.#failed('invalid');
  }

  async #nextHead(): Promise<ResponseHead | Unanswered> {
    const bytes = await this.#origin.reader.head(MAX_HEAD_BYTES, null);
    if (bytes === 'end' || bytes === 'broken')
      return this.#failed(this.#malformed ? 'malformed' : 'unanswered');
    if (bytes === 'no_head') return this.#failed('invalid');
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
    const scrubbed = this.#input.scrubber.body(head);
    // It may be waiting for its turn to be decoded.
    const onClientGone = () => scrubbed.close();
    this.#client.socket.once('close', onClientGone);
    try {
      return await this.#answerThrough(scrubbed, head, framing);
    } finally {
      this.#client.socket.removeListener('close', onClientGone);
      scrubbed.close();
    }
  }

  async #answerThrough(
    scrubbed: BodyScrubber,
    head: ResponseHead,
    framing: Framing,
  ): Promise<ExchangeOutcome> {
    const shown = showAnswer(head, framing, scrubbed.mayCut, this.#input.head.minor);
    const keepClient = shown.form !== 'bare' && this.#mayKeepClient(framing);
    const first = this.#clientHead(shown.head, !keepClient);
    const complete = shown.judged
      ? await this.#judgeAnswer(scrubbed, framing, shown, first)
      : await this.#streamAnswer(scrubbed, framing, shown, first);
    if (shown.judged && this.#cut) return this.#refuse(head.status, this.#cut);
    if (complete === null) return this.#failed('unanswered');
    const sent = this.#requestBody.done && !this.#broken;
    const alive = framing.kind !== 'until_close' && keepsAlive(head.minor, head.headers);
    return this.#answered(head.status, complete, keepClient && sent, alive && sent);
  }

  async #streamAnswer(
    scrubbed: BodyScrubber,
    framing: Framing,
    shown: Shown,
    first: Buffer,
  ): Promise<boolean> {
    // Most answers come in one piece, head and body.
    gather(this.#client.socket);
    await send(this.#client.socket, first);
    return this.#receiveBody(scrubbed, framing, shown, (bytes) => this.#sendDown(bytes));
  }

  /** @returns whether all was sent; `null` where nothing was, since it may not or did not come to its end */
  async #judgeAnswer(
    scrubbed: BodyScrubber,
    framing: Framing,
    shown: Shown,
    first: Buffer,
  ): Promise<boolean | null> {
    const parts: Buffer[] = [];
    const keep = async (bytes: Buffer) => parts.push(bytes) > 0;
    if (!(await this.#receiveBody(scrubbed, framing, shown, keep))) return null;
    gather(this.#client.socket);
    await send(this.#client.socket, first);
    for (const part of parts) if (!(await this.#sendDown(part))) return false;
    return true;
  }

  #refuse(status: number, cut: Cut): ExchangeOutcome {
    this.#origin.socket.destroy();
    return { kind: 'refused', cut, status, bytesUp: this.#bytesUp, bytesDown: this.#bytesDown };
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
      cut: this.#cut,
      left: this.#broken,
      masked: this.#input.scrubber.masked,
      keepClient: keepClient && complete,
      keepOrigin: keepOrigin && complete,
    };
  }

  /** A 101. Where nobody asked to switch protocols it is not passed on; a WebSocket is opaque bytes from here on. */
  async #switch(head: ResponseHead): Promise<ExchangeOutcome> {
    if (!this.#input.webSocket || !isWebSocket(head, this.#input.head)) return this.#failed('invalid');
    const masked = this.#input.scrubber.head(head);
    const headers = upgradeHeaders(masked.headers);
    await send(this.#client.socket, writeResponseHead({ ...masked, headers }, false));
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

  /** @param close whether the client's connection ends with it */
  #clientHead(head: ResponseHead, close: boolean): Buffer {
    const masked = this.#input.scrubber.head(head);
    return writeResponseHead({ ...masked, headers: dropConnectionHeaders(masked.headers) }, close);
  }

  /** @returns whether the body came to its end */
  async #receiveBody(
    scrubbed: BodyScrubber,
    framing: Framing,
    shown: Shown,
    sendOn: (bytes: Buffer) => Promise<boolean>,
  ): Promise<boolean> {
    const body = makeBodyReader(framing, (line) => this.#input.scrubber.line(line));
    const { reader } = this.#origin;
    const onHeard = () => keepAwake(this.#client.socket);
    const receiver = new AnswerBody({ reader, framing, body, scrubbed, shown, send: sendOn, onHeard });
    const complete = await receiver.receive();
    this.#cut = receiver.cut;
    return complete;
  }

  #sendDown(bytes: Buffer): Promise<boolean> {
    this.#bytesDown += bytes.length;
    return send(this.#client.socket, bytes);
  }
}

/** RFC 9112 9.3. */
function keepsAlive(minor: number, headers: readonly HeaderLine[]): boolean {
  const options = headerValues(headers, 'connection').flatMap((value) => value.toLowerCase().split(','));
  const names = new Set(options.map((name) => name.trim()));
  return minor === 1 ? !names.has('close') : names.has('keep-alive');
}

/** More than any server sends; a flood of them is no answer. */
const MAX_INFORMATIONAL = 32;
