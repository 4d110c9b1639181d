/**
 * What becomes of an origin's 401: the current tokens that the request carried are marked stale, and a request that may
 * be asked again gets another grant, once. Without another token the 401 is the client's to see. Knows no protocol.
 */
import type { OpenedSecret } from '../core-lite/vault/secret-reader.ts';
import type { Gate } from './gate.ts';

/** What a request was let through with. */
interface Granted {
  readonly secrets: readonly OpenedSecret[];
  readonly scope: string;
}

type Again<Grant> = () => Promise<Grant | { readonly refusal: string }>;

export class Renewal<Grant extends Granted> {
  readonly #gate: Gate;
  #again: Again<Grant> | null;
  #next: Grant | null = null;

  /** @param again grants the same request anew; `null` where it may have had an effect already */
  constructor(gate: Gate, again: Again<Grant> | null) {
    this.#gate = gate;
    this.#again = again;
  }

  /** Another grant for a request whose 401 was not passed on; to be taken once. */
  take(): Grant | null {
    const next = this.#next;
    this.#next = null;
    return next;
  }

  /** Whether the 401 is passed on. Never rejects. */
  async passes({ secrets, scope }: Granted): Promise<boolean> {
    const another = await Promise.all(secrets.map((secret) => this.#refuse(secret)));
    const again = this.#again;
    if (!again || !another.some((had) => had)) return true;
    this.#again = null;
    const next = await again().catch(() => null);
    if (!next || 'refusal' in next || next.scope === scope) return true;
    this.#next = next;
    return false;
  }

  #refuse(secret: OpenedSecret): Promise<boolean> {
    return this.#gate.secrets.refuse(secret).catch((error: unknown) => {
      this.#gate.logger.warn({ credential: secret.credentialId, err: error }, 'a stale token is not marked');
      return false;
    });
  }
}
