/**
 * What is kept of a keyed call's request and answer: of the request an HMAC, so that another one under its key is known
 * and the request itself is nowhere; of the answer its text, sealed for its row and attempt.
 */
import { createHmac } from 'node:crypto';
import { Secret } from '../secret.ts';
import type { SealKey } from '../vault/seal.ts';
import type { CrossingRequest } from './crossing.ts';

export class CrossingSeal {
  readonly #seal: SealKey;
  readonly #macKey: Buffer;

  /** @param seal the class key `gates` */
  constructor(seal: SealKey) {
    this.#seal = seal;
    this.#macKey = seal.derive('crossings request');
  }

  /** Each part has its length before it: no two requests have one text. */
  mac(sessionId: string, { kind, server, tool, request }: CrossingRequest): Buffer {
    const mac = createHmac('sha256', this.#macKey);
    for (const part of [sessionId, kind, server ?? '', tool, request]) {
      const bytes = Buffer.from(part);
      mac.update(`${bytes.length}:`).update(bytes);
    }
    return mac.digest();
  }

  sealBody(id: string, attempt: number, body: string): Buffer {
    return this.#seal.seal(new Secret(body), place(id, attempt));
  }

  /** Throws Fault `seal_broken`. */
  openBody(id: string, attempt: number, sealed: Buffer): string {
    return this.#seal.open(sealed, place(id, attempt)).reveal();
  }
}

function place(id: string, attempt: number): string {
  return `crossings ${id} outcome ${attempt}`;
}
