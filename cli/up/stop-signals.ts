/**
 * What the user asks by signals: the first asks for the end, a second one for a faster end. Nobody else may end this
 * process meanwhile: it would leave a database and services behind.
 */
import type { EventEmitter } from 'node:events';

export interface StopSignals {
  readonly first: AbortSignal;
  readonly second: AbortSignal;
  /** Gives the signals back to whoever had them. */
  close(): void;
}

/** @param asked aborted when the end was asked for in another way, maybe before this */
export function listenForStop(asked?: AbortSignal): StopSignals {
  const first = new AbortController();
  const second = new AbortController();
  let firstAt = 0;
  const hear = (): void => {
    if (!first.signal.aborted) {
      firstAt = performance.now();
      first.abort();
    } else if (performance.now() - firstAt > SAME_SIGNAL_MS) {
      second.abort();
    }
  };
  if (asked?.aborted) hear();
  else asked?.addEventListener('abort', hear, { once: true });
  const taken = [
    ...SIGNALS.map((name) => takeOver(process, name, hear)),
    // A terminal that was closed takes our lines no more; its SIGHUP is what ends us.
    ...[process.stdout, process.stderr].map((stream) => takeOver(stream, 'error', () => {})),
  ];
  return {
    first: first.signal,
    second: second.signal,
    close: () => {
      for (const giveBack of taken) giveBack();
    },
  };
}

function takeOver(emitter: EventEmitter, event: string, listener: () => void): () => void {
  const before = emitter.rawListeners(event);
  emitter.removeAllListeners(event);
  emitter.on(event, listener);
  return () => {
    emitter.off(event, listener);
    // What `rawListeners` gives are listeners of this very event.
    for (const each of before) emitter.on(event, each as () => void);
  };
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** The terminal, npm and our launcher may each hand us the one signal that the user sent. */
const SAME_SIGNAL_MS = 300;
