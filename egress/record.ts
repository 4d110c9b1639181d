/**
 * The last stage and the first row: what is recorded of a connection, and its one log line. The row that opens it is
 * committed before a name is looked up; the row that ends it is written once, whatever happened.
 */
import type { Verdict } from '../core-lite/decision.ts';
import type { Logger } from '../core-lite/log.ts';
import type { Address } from '../core-lite/network/address.ts';
import { isRefusal, type Reason, type RefusalReason } from '../core-lite/reasons.ts';
import type { ConnectionLog } from '../core-lite/record/connection-log.ts';
import type { ExchangeEntry, ExchangeLog } from '../core-lite/record/exchange-log.ts';
import type { RefusalCounts } from '../core-lite/record/refusal-counts.ts';
import type { Connection } from './connection.ts';
import type { Metrics } from './metrics.ts';
import { RowsPerSecond } from './rows-per-second.ts';

/** How a connection ended, as far as its way went. */
export interface Ending {
  readonly verdict: Verdict;
  readonly reason: Reason;
  /** More exactly why, where the reason leaves it open. */
  readonly code?: string | undefined;
  readonly addresses: readonly Address[];
  readonly address: Address | null;
  /** Requests inside an interception. */
  readonly exchanges: number;
  readonly bytesUp: number;
  readonly bytesDown: number;
}

export interface RecorderOptions {
  readonly log: ConnectionLog;
  readonly exchanges: ExchangeLog;
  readonly counts: RefusalCounts;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly now: () => Date;
}

export class Recorder {
  readonly #options: RecorderOptions;
  readonly #refused = new RowsPerSecond(MAX_REFUSED_ROWS);
  #second = 0;
  #said = 0;

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  /** Resolves when the row is committed; rejects when it cannot be, and then nothing may be opened. */
  async open(connection: Connection, verdict: Verdict, reason: Reason): Promise<void> {
    const { claims, id: tokenId } = connection.token;
    await this.#options.log.open({
      id: connection.id,
      at: connection.openedAt,
      environmentId: claims.sub,
      tokenId,
      podUid: claims.pod,
      sessionId: claims.ses ?? null,
      turnId: claims.trn ?? null,
      source: connection.source,
      host: connection.target.host,
      port: connection.target.port,
      verdict,
      reason,
    });
    // A denial is complete with its first row.
    if (verdict === 'denied') this.#note(connection, verdict, reason);
  }

  /** Closes a row that may have been written, of a connection that was not opened because nobody could tell. */
  unopened(connection: Connection): void {
    const nothing = { addresses: [], address: null, exchanges: 0, bytesUp: 0, bytesDown: 0 };
    this.end(connection, { verdict: 'denied', reason: 'record_unavailable', ...nothing });
  }

  /** Closes the row of a connection that was let through. */
  end(connection: Connection, ending: Ending): void {
    const at = this.#options.now();
    const durationMs = at.getTime() - connection.openedAt.getTime();
    const addresses = ending.addresses.map((address) => address.text);
    const { verdict, reason, code, exchanges, bytesUp, bytesDown } = ending;
    const address = ending.address?.text ?? null;
    this.#options.log.end({
      connectionId: connection.id,
      at,
      verdict,
      reason,
      code: code ?? null,
      addresses,
      address,
      bytesUp,
      bytesDown,
      durationMs,
      exchanges,
    });
    this.#note(connection, verdict, reason, { code, address, exchanges, bytesUp, bytesDown, ms: durationMs });
  }

  /** One request inside an interception, when it is over. Past some in a second, refused ones are only counted. */
  exchange({ source, environmentId }: Connection, entry: ExchangeEntry): void {
    this.#options.metrics.exchanges.inc({ reason: entry.reason });
    // Whatever a secret or a byte left for is written down, however many there are.
    const unsent = entry.bytesUp === 0 && entry.credentials.length === 0;
    if (isRefusal(entry.reason) && unsent && !this.#refused.take(environmentId, this.#options.now())) {
      this.count(source, environmentId, entry.reason);
      return;
    }
    this.#options.exchanges.add(entry);
    if (entry.masked > 0) this.#options.metrics.masked.inc(entry.masked);
    const { id, connectionId: connection, method, status, reason, masked, durationMs: ms } = entry;
    const code = entry.code ?? undefined;
    this.#options.logger.info({ id, connection, method, status, reason, code, masked, ms }, 'exchange');
  }

  /** Counts a refusal for which there is no row: nobody to name, or too many to write down. */
  count(source: string, environmentId: string | null, reason: RefusalReason): void {
    this.#options.counts.add(source, environmentId, reason, this.#options.now());
    this.#options.metrics.refusals.inc({ reason });
    this.#say(source, environmentId, reason);
  }

  /** One line a refusal, but not a flood of them: past some in a second only the counts tell. */
  #say(source: string, environment: string | null, reason: RefusalReason): void {
    const second = Math.floor(this.#options.now().getTime() / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#said = 0;
    }
    this.#said += 1;
    const level = this.#said <= MAX_REFUSALS_SAID ? 'info' : 'debug';
    this.#options.logger[level]({ source, environment, reason }, 'refused');
  }

  #note(connection: Connection, verdict: Verdict, reason: Reason, more: object = {}): void {
    this.#options.metrics.connections.inc({ verdict, reason });
    const { host, port } = connection.target;
    const environment = connection.environmentId;
    this.#options.logger.info(
      { id: connection.id, environment, host, port, verdict, reason, ...more },
      'connection',
    );
  }
}

/** Refused tokens come from whoever reaches the port: they must not fill the disk. */
const MAX_REFUSALS_SAID = 20;
/** Refused requests inside an interception cost nothing and have no rate. More than anyone reads. */
const MAX_REFUSED_ROWS = 50;
