/**
 * Letters between gates: what a client's message is to a call that runs at another one. They go through the database,
 * sealed, and the change feed tells of them. A letter may be lost with the feed: then the call goes on as if the client
 * had not answered.
 */
import type { ChangeFeed } from '../../core-lite/database/changes.ts';
import type { Queryable } from '../../core-lite/database/pool.ts';
import { Secret } from '../../core-lite/secret.ts';
import type { SealKey } from '../../core-lite/vault/seal.ts';
import type { HeldTurn } from './downstream/held-calls.ts';
import type { Answer, JsonObject, RequestId } from './messages.ts';

export type Letter =
  /** A client's answer to what it was asked. */
  | { readonly kind: 'answer'; readonly session: string; readonly id: RequestId; readonly answer: Answer }
  /** A client took a request back. */
  | { readonly kind: 'cancel'; readonly session: string; readonly id: RequestId }
  /** A client set something in its session. */
  | { readonly kind: 'changed'; readonly session: string }
  /** A client's answers to a call that waits, for the gate it waits at. */
  | {
      readonly kind: 'round';
      readonly round: string;
      readonly call: string;
      readonly answers: JsonObject;
      readonly from: string;
    }
  /** That gate has the call, and what came of the answers. */
  | { readonly kind: 'taken'; readonly round: string }
  | { readonly kind: 'turn'; readonly round: string; readonly turn: HeldTurn }
  /** The client left. */
  | { readonly kind: 'leave'; readonly round: string };

export interface Letters {
  /** @param to a gate's name, or all gates. Never rejects: a letter may be lost. */
  send(to: string, letter: Letter): Promise<void>;
  receive(take: (letter: Letter) => void): void;
}

export const ALL_GATES = 'all';

export interface LettersOptions {
  readonly db: Queryable;
  readonly feed: ChangeFeed;
  readonly seal: SealKey;
  /** This gate's name. */
  readonly replica: string;
  readonly onFailure: (error: unknown) => void;
}

export class DatabaseLetters implements Letters {
  readonly #options: LettersOptions;
  #take: (letter: Letter) => void = () => {};
  #reading: Promise<unknown> = Promise.resolve();

  constructor(options: LettersOptions) {
    this.#options = options;
    options.feed.subscribe({
      change: ({ kind, id }) => {
        const [to, letter] = id.split(':');
        if (kind !== 'mcp_letter' || letter === undefined) return;
        if (to === options.replica || to === ALL_GATES) {
          // One after the other, as they were written.
          this.#reading = this.#reading.then(() => this.#read(to, letter)).catch(options.onFailure);
        }
      },
    });
  }

  receive(take: (letter: Letter) => void): void {
    this.#take = take;
  }

  async send(to: string, letter: Letter): Promise<void> {
    const { db, seal, onFailure } = this.#options;
    if (!NAME.test(to)) return;
    const sealed = seal.seal(new Secret(JSON.stringify(letter)), place(to));
    try {
      await db.query('DELETE FROM mcp_letters WHERE written_at < clock_timestamp() - $1::interval', [LIFE]);
      await db.query('INSERT INTO mcp_letters (addressee, sealed) VALUES ($1, $2)', [to, sealed]);
    } catch (error) {
      onFailure(error);
    }
  }

  async #read(to: string, id: string): Promise<void> {
    const { db, seal, replica } = this.#options;
    const statement =
      to === replica
        ? 'DELETE FROM mcp_letters WHERE id = $1 AND addressee = $2 RETURNING sealed'
        : 'SELECT sealed FROM mcp_letters WHERE id = $1 AND addressee = $2';
    const [row] = await db.query<{ sealed: Buffer }>(statement, [id, to]);
    if (row) this.#take(JSON.parse(seal.open(row.sealed, place(to)).reveal()) as Letter);
  }
}

function place(to: string): string {
  return `mcp_letters ${to} sealed`;
}

const NAME = /^[a-z0-9_]{1,64}$/;
const LIFE = '5 minutes';
