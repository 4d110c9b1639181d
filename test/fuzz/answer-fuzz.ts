/**
 * A fuzzer that is the origin of live interceptions: whatever it answers, its client gets one answer that every reader
 * reads alike or a 502 of the gate's own, never the secret, and the next client is served.
 */
import { type AnswerInput, answerInputs, renderAnswer } from './answer-input.ts';
import { judgeAnswer } from './answer-oracle.ts';
import { show } from './exchange-oracle.ts';
import { fuzz } from './fuzz-run.ts';
import { InterceptionFuzz, SECRET } from './interception-fuzz.ts';
import type { Lane } from './lanes.ts';
import { answerWithDigest } from './tls-lane-origin.ts';

export class AnswerFuzz {
  readonly inner: InterceptionFuzz;
  /** What the origin answers, by path. */
  readonly #answers: Map<string, Buffer>;
  #count = 0;
  /** Answers of the origin's own that came whole: a fuzzer that gets none through finds nothing. */
  passed = 0;

  private constructor(inner: InterceptionFuzz, answers: Map<string, Buffer>) {
    this.inner = inner;
    this.#answers = answers;
  }

  static async start(): Promise<AnswerFuzz> {
    const answers = new Map<string, Buffer>();
    const inner = await InterceptionFuzz.start((request) => {
      const bytes = answers.get(request.first.split(' ')[1] ?? '');
      return bytes ? { bytes, close: true } : answerWithDigest(request);
    });
    return new AnswerFuzz(inner, answers);
  }

  run(inputs: number, seed?: number): Promise<number> {
    return fuzz({
      name: 'answers of an origin',
      input: answerInputs(),
      inputs,
      ...(seed === undefined ? {} : { seed }),
      check: async (batch) => {
        await Promise.all(batch.map((input) => this.inner.lanes.use((lane) => this.#try(input, lane))));
        this.inner.rig.assertSound();
      },
    });
  }

  close(): Promise<void> {
    return this.inner.close();
  }

  async #try(input: AnswerInput, lane: Lane): Promise<void> {
    const bytes = renderAnswer(input, SECRET);
    const path = `/answer/${this.#count++}`;
    this.#answers.set(path, bytes);
    const authority = `${lane.host}:${this.inner.origin.port}`;
    const length = input.method === 'POST' ? 'Content-Length: 0\r\n' : '';
    const request = `${input.method} ${path} ${input.version}\r\nHost: ${authority}\r\n${length}\r\n`;
    try {
      this.inner.origin.watch(lane.host);
      const got = await this.inner.exchange(lane, [Buffer.from(request)], 'finish');
      // A change may make of a header a body that is no text: such a body passes as it is.
      if (input.changes.length === 0 && got.bytes.includes(`X-Echo: ${SECRET}`))
        throw new Error('the client got the secret');
      if (judgeAnswer(got.bytes, bytes, input.method)) this.passed += 1;
      await this.inner.probe(lane);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new Error(`${why}\nanswered: ${show(bytes)}`);
    } finally {
      this.#answers.delete(path);
    }
  }
}
