/**
 * What is listened for on a connection. It outlives the server's streams and sessions: what breaks off is taken up again,
 * more and more slowly, and given up only when the server is gone for long.
 */
import type { Failed } from './failures.ts';
import { declares } from './link-record.ts';
import type { Live } from './live.ts';
import type { ClientFacts, Filter, ServerNotification, Subscription } from './server.ts';

export interface Wanted {
  readonly filter: Filter;
  readonly on: (said: ServerNotification) => void;
  /** Called when it was given up. */
  readonly onEnd: () => void;
}

export type OpenLive = (client: ClientFacts, signal: AbortSignal) => Promise<Live | Failed>;

export class Subscriptions {
  readonly #open: OpenLive;
  readonly #all = new Set<Hearing>();

  constructor(open: OpenLive) {
    this.#open = open;
  }

  get size(): number {
    return this.#all.size;
  }

  add(wanted: Wanted): Subscription {
    const hearing = new Hearing(wanted, this.#open, () => this.#all.delete(hearing));
    this.#all.add(hearing);
    return {
      close: () => {
        this.#all.delete(hearing);
        hearing.close();
      },
    };
  }

  /** A connection has begun. */
  attach(live: Live): void {
    for (const hearing of this.#all) hearing.attach(live);
  }

  /** A modern server's streams are opened anew; a legacy one's are its connection's. */
  reopen(): void {
    for (const hearing of this.#all) hearing.reopen();
  }

  close(): void {
    for (const hearing of this.#all) hearing.end();
    this.#all.clear();
  }
}

class Hearing {
  readonly #wanted: Wanted;
  readonly #open: OpenLive;
  readonly #onGone: () => void;
  readonly #closing = new AbortController();
  #live: Live | null = null;
  #leave: () => void = () => {};
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;
  #stream: AbortController | null = null;

  constructor(wanted: Wanted, open: OpenLive, onGone: () => void) {
    this.#wanted = wanted;
    this.#open = open;
    this.#onGone = onGone;
    void this.#begin();
  }

  attach(live: Live): void {
    if (this.#closing.signal.aborted || this.#live === live) return;
    this.#leave();
    this.#live = live;
    if (live.era === 'modern') void this.#hear(live);
    else this.#leave = listenTo(live, this.#wanted, this.#closing.signal);
  }

  reopen(): void {
    this.#stream?.abort();
  }

  close(): void {
    this.#leave();
    this.#closing.abort();
    clearTimeout(this.#timer);
  }

  /** Closes it, and tells whoever listens. */
  end(): void {
    if (this.#closing.signal.aborted) return;
    this.close();
    this.#onGone();
    this.#wanted.onEnd();
  }

  async #begin(): Promise<void> {
    const { signal } = this.#closing;
    const live = await this.#open(NOBODY, signal).catch(() => null);
    if (signal.aborted) return;
    if (live && !('failure' in live)) this.attach(live);
    else this.#again();
  }

  async #hear(live: Live): Promise<void> {
    const { filter, on } = this.#wanted;
    const { signal } = this.#closing;
    const heard = (said: ServerNotification): void => {
      this.#failures = 0;
      on(said);
    };
    const stream = new AbortController();
    this.#stream = stream;
    await live.listen(filter, NOBODY, heard, AbortSignal.any([signal, stream.signal]));
    if (signal.aborted || this.#live !== live) return;
    this.#live = null;
    this.#again();
  }

  #again(): void {
    this.#failures += 1;
    if (this.#failures > MAX_FAILURES) {
      this.end();
      return;
    }
    const pauseMs = Math.min(LONGEST_MS, SHORTEST_MS * 2 ** this.#failures);
    this.#timer = setTimeout(() => void this.#begin(), pauseMs).unref();
  }
}

/** A legacy server says on its stream for all whatever it has to say; of resources only what it was told to. */
function listenTo(live: Live, { filter, on }: Wanted, closing: AbortSignal): () => void {
  const uris = filter.resourceSubscriptions ?? [];
  const leave = live.incoming.listen((said) => {
    if (isWanted(said, filter)) on(said);
  });
  const mayAsk = declares(live.about.capabilities, 'resources');
  const held = mayAsk ? uris : [];
  for (const uri of held) void live.holdResource(uri, closing);
  return () => {
    leave();
    for (const uri of held) live.dropResource(uri);
  };
}

function isWanted({ method, params }: ServerNotification, filter: Filter): boolean {
  switch (method) {
    case 'notifications/tools/list_changed':
      return filter.toolsListChanged === true;
    case 'notifications/prompts/list_changed':
      return filter.promptsListChanged === true;
    case 'notifications/resources/list_changed':
      return filter.resourcesListChanged === true;
    case 'notifications/resources/updated': {
      const uri = String(params['uri']);
      // A part of what was subscribed to may be what changed.
      return filter.resourceSubscriptions?.some((each) => uri.startsWith(each)) ?? false;
    }
    default:
      return filter.unasked === true;
  }
}

const NOBODY: ClientFacts = { info: null, capabilities: {} };
const SHORTEST_MS = 250;
const LONGEST_MS = 60_000;
/** An hour and some. */
const MAX_FAILURES = 80;
