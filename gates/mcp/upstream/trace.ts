/** What is known of one exchange with a server beside what it said: whether bytes left, its status, and why it failed. */
import { type Failed, fail, type UpstreamFailure } from './failures.ts';

export class Trace {
  /** Bytes of a POST may have left. */
  started = false;
  /** Of the last answer's head; 0 before there is one. */
  status = 0;
  /** The answer to the POST is a stream of events. */
  streams = false;
  #failed: Failed | null = null;

  get failed(): Failed | null {
    return this.#failed;
  }

  /** The first reason stays: what comes after it is its consequence. @returns what its fetch rejects with */
  fail(failure: UpstreamFailure, detail: string | null = null, mayHaveRun = this.started): FetchFailure {
    this.#failed ??= fail(failure, mayHaveRun, detail);
    return new FetchFailure();
  }

  /** Before anything of this fetch left; the exchange may have begun with another. */
  adopt({ failure, detail }: Failed): FetchFailure {
    return this.fail(failure, detail);
  }
}

/** What passes through the SDK's transport; why stands in the trace. */
export class FetchFailure extends Error {
  override readonly name = 'FetchFailure';
}
