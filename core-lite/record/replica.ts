/**
 * A process that is heard: its heartbeat goes to the database, so that the others know whose calls nobody will settle
 * any more. One that was paused for so long that it was declared dead is told so, and begins anew.
 */
import type { Queryable } from '../database/pool.ts';
import { proveReplica, type ReplicaName } from './replica-name.ts';

export interface ReplicaOptions {
  readonly db: Queryable;
  readonly name: ReplicaName;
  readonly service: string;
  /** It was declared dead: what it started has been settled by another. */
  readonly onDeath: () => void;
  /** What else is done with each heartbeat. A rejection is told and the next heartbeat tries again. */
  readonly tend: () => Promise<void>;
  readonly onFailure: (error: unknown) => void;
}

export class Replica {
  readonly #options: ReplicaOptions;
  #timer: NodeJS.Timeout | undefined;
  #beating: Promise<void> | null = null;

  constructor(options: ReplicaOptions) {
    this.#options = options;
  }

  /** Resolves when it is known as alive. Rejects with Fault `database_unreachable`. */
  async start(): Promise<void> {
    await this.#join();
    this.#timer = setInterval(() => {
      this.#beating ??= this.beat().finally(() => {
        this.#beating = null;
      });
    }, BEAT_MS).unref();
  }

  /** One heartbeat. Never rejects. */
  async beat(): Promise<void> {
    const { db, name, onDeath, tend, onFailure } = this.#options;
    try {
      const [row] = await db.query<{ alive: boolean }>(
        'SELECT hear_replica($1, $2) AS alive',
        proveReplica(name),
      );
      if (!row?.alive) {
        onDeath();
        await this.#join();
      }
      await tend();
    } catch (error) {
      onFailure(error);
    }
  }

  /** Leaves: what it could not settle is settled by another. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#beating;
    const { db, name } = this.#options;
    await db.query('SELECT leave_replicas($1, $2)', proveReplica(name)).catch(() => {});
  }

  async #join(): Promise<void> {
    const { db, name, service } = this.#options;
    const [id, key] = proveReplica(name);
    await db.query('SELECT join_replicas($1, $2, $3)', [id, service, key]);
  }
}

/** The database declares dead who is silent for three of them: `bury_replicas` and its kind know the figure. */
const BEAT_MS = 5_000;
