/** What came from the origin and is held back, to be looked at, is no silence: the client's side waits for it. */
interface Waiting {
  /** Milliseconds, as Node keeps them on sockets and HTTP/2 sessions. */
  readonly timeout?: number | undefined;
  setTimeout(ms: number): unknown;
}

/** Begins the side's time of silence anew. */
export function keepAwake(side: Waiting | undefined): void {
  if (side?.timeout) side.setTimeout(side.timeout);
}
