/**
 * Connections to origins that are kept for the next exchange. One serves again only for the same environment, host,
 * port, address and credential version: never wider, or one run's connection would carry another's authority.
 */
import type { Socket } from 'node:net';
import type { Address } from '../core-lite/network/address.ts';
import { ByteReader } from './http1/byte-reader.ts';

/** Where an origin was reached: at an address that was judged, or (`null`) wherever the parent proxy finds it. */
export type Place = Address | null;

export class OriginConnection {
  readonly socket: Socket;
  readonly reader: ByteReader;
  readonly address: Place;
  #scope: string;
  /** Whether an exchange went over it before: then it may die just as it is used again. */
  used = false;

  constructor(socket: Socket, address: Place, scope: string) {
    this.socket = socket;
    this.reader = new ByteReader(socket);
    this.address = address;
    this.#scope = scope;
  }

  /** Everything but the address that it may be used again for. */
  get scope(): string {
    return this.#scope;
  }

  /**
   * Takes the scope of the first exchange: while nothing has gone over a connection it bears no secret.
   * @param scope of the same environment and target
   * @returns whether it may be used for it
   */
  adopt(scope: string): boolean {
    if (!this.used) this.#scope = scope;
    return this.#scope === scope;
  }

  /** Open, silent, and nothing left over from before. */
  get fit(): boolean {
    return !this.socket.destroyed && this.reader.ended === null && !this.reader.hasBytes;
  }
}

interface Idle {
  readonly connection: OriginConnection;
  readonly timer: NodeJS.Timeout;
  readonly drop: () => void;
}

export class OriginPool {
  readonly #idle = new Map<string, Idle[]>();
  #size = 0;

  /** A kept connection of this scope to one of these places, or `null`. */
  take(scope: string, places: readonly Place[]): OriginConnection | null {
    const held = this.#idle.get(scope) ?? [];
    for (let i = held.length - 1; i >= 0; i--) {
      const { connection } = held[i] as Idle;
      if (!places.some((place) => place?.text === connection.address?.text)) continue;
      this.#forget(scope, held, i);
      if (connection.fit) return connection;
      connection.socket.destroy();
    }
    return null;
  }

  /** Keeps it for a while, or closes it where there are enough. */
  give(connection: OriginConnection): void {
    const held = this.#idle.get(connection.scope) ?? [];
    if (!connection.fit || held.length >= MAX_IDLE_OF_SCOPE || this.#size >= MAX_IDLE) {
      connection.socket.destroy();
      return;
    }
    const drop = () => {
      const i = held.findIndex((idle) => idle.connection === connection);
      if (i >= 0) this.#forget(connection.scope, held, i);
      connection.socket.destroy();
    };
    const timer = setTimeout(drop, IDLE_MS);
    timer.unref();
    held.push({ connection, timer, drop });
    this.#idle.set(connection.scope, held);
    this.#size += 1;
    // Reading on tells at once when the origin closes it.
    connection.socket.resume();
    connection.socket.once('close', drop);
    connection.socket.once('end', drop);
  }

  /** Closes all that are kept of a scope: one of them was dead, so the others may be. */
  drop(scope: string): void {
    for (const { drop } of [...(this.#idle.get(scope) ?? [])]) drop();
  }

  close(): void {
    for (const held of this.#idle.values()) {
      for (const { connection, timer } of held) {
        clearTimeout(timer);
        connection.socket.destroy();
      }
    }
    this.#idle.clear();
  }

  #forget(scope: string, held: Idle[], index: number): void {
    const [idle] = held.splice(index, 1);
    if (!idle) return;
    clearTimeout(idle.timer);
    idle.connection.socket.removeListener('close', idle.drop).removeListener('end', idle.drop);
    this.#size -= 1;
    if (held.length === 0) this.#idle.delete(scope);
  }
}

/** Below the keep-alive time of common servers (60 s and more), so that few die while they are used again. */
const IDLE_MS = 30_000;
const MAX_IDLE_OF_SCOPE = 128;
const MAX_IDLE = 2_000;
