/**
 * The parent proxy (SALLYPORT_PARENT_PROXY): every connection to an origin goes out through it. It is the operator's, so
 * its own address is not judged; and it looks up the names of targets, so their addresses cannot be judged here. Whatever
 * fails, nothing goes out past it: there is no falling back to a direct way.
 */
import type { Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import type { Allow } from '../../core-lite/decision.ts';
import { type Address, parseAddress } from '../../core-lite/network/address.ts';
import type { ParentProxy } from '../../core-lite/network/parent-proxy.ts';
import { ResolveFailure, type Resolver } from '../../core-lite/network/resolve.ts';
import { parseTarget, type Target } from '../../core-lite/network/target.ts';
import type { Secret } from '../../core-lite/secret.ts';
import { connectFirst, DIAL_LIMIT_MS } from '../act/dial.ts';
import type { RequestHead } from '../http1/head.ts';
import { absoluteForm } from './absolute-form.ts';
import { ParentFailure, parentFailed } from './failure.ts';
import { connectOverHttp, secretsOf } from './http-connect.ts';
import { secureParent, trustOf } from './secure-parent.ts';
import { connectOverSocks } from './socks-connect.ts';

export interface ParentOptions {
  readonly proxy: ParentProxy;
  readonly resolver: Resolver;
  /** PEM certificates that an https parent may be certified by, besides the public roots. */
  readonly extraRoots: readonly string[];
  /** For the whole way: look-up, dial, TLS and the parent's answer. Default 10 s, the design's figure for a dial. */
  readonly limitMs?: number;
}

export class Parent {
  readonly #options: ParentOptions;
  readonly #trust: SecureContext | null;
  /** Of its login, where that goes with each plain request: they must not come back. */
  readonly plainSecrets: readonly Secret[];

  constructor(options: ParentOptions) {
    this.#options = options;
    this.#trust = options.proxy.scheme === 'https' ? trustOf(options.extraRoots) : null;
    const { login } = options.proxy;
    this.plainSecrets = login && this.readsHttp ? secretsOf(login) : [];
  }

  /** A tunnel to the target. @param _proof that the target was allowed. Never rejects for what the parent does. */
  tunnel(_proof: Allow, target: Target, signal: AbortSignal): Promise<Socket | ParentFailure> {
    return this.#within(signal, (limited) => this.#enter(target, limited));
  }

  /**
   * The way for plain HTTP requests to the target: to an HTTP parent itself, through a SOCKS5 parent to the origin.
   * @param _proof that the target was allowed
   */
  plain(_proof: Allow, target: Target, signal: AbortSignal): Promise<Socket | ParentFailure> {
    return this.#within(signal, (limited) =>
      this.readsHttp ? this.#connect(limited) : this.#enter(target, limited),
    );
  }

  /** The head of a plain request as it is written to what `plain` gave. */
  plainHead(head: RequestHead, target: Target): RequestHead {
    return this.readsHttp ? absoluteForm(head, target, this.#options.proxy.login) : head;
  }

  /**
   * Whether it answers and takes the login, asked with a name that nobody has (RFC 6761 6.4). For `doctor`.
   * @returns `closed` where it hung up: some say so that there is no such host, some that they do not speak this
   */
  async check(signal: AbortSignal): Promise<ParentFailure | 'answered' | 'closed'> {
    const nobody = parseTarget('sallyport.invalid:443');
    if (!nobody) throw new Error('unreachable: the name is well-formed');
    const entered = await this.#within(signal, (limited) => this.#enter(nobody, limited));
    if (!(entered instanceof ParentFailure)) {
      entered.destroy();
      return 'answered';
    }
    if (entered.code === 'PARENT_CLOSED') return 'closed';
    return /^PARENT_(ANSWERED|REFUSED)_/.test(entered.code) ? 'answered' : entered;
  }

  /** Whether it reads the requests of plain HTTP itself: then its login goes with each. */
  get readsHttp(): boolean {
    return this.#options.proxy.scheme !== 'socks5';
  }

  async #within(
    signal: AbortSignal,
    work: (limited: AbortSignal) => Promise<Socket | ParentFailure>,
  ): Promise<Socket | ParentFailure> {
    const limit = AbortSignal.timeout(this.#options.limitMs ?? DIAL_LIMIT_MS);
    const result = await work(AbortSignal.any([signal, limit]));
    const failed = result instanceof ParentFailure;
    return failed && limit.aborted && !signal.aborted ? parentFailed('TIMEOUT') : result;
  }

  async #enter(target: Target, signal: AbortSignal): Promise<Socket | ParentFailure> {
    const socket = await this.#connect(signal);
    if (socket instanceof ParentFailure) return socket;
    const { login } = this.#options.proxy;
    const connect = this.readsHttp ? connectOverHttp : connectOverSocks;
    const failure = await connect(socket, target, login, signal);
    if (!failure && !socket.destroyed && !signal.aborted) return socket;
    socket.destroy();
    return failure ?? parentFailed('CLOSED');
  }

  /** A connection to the parent itself. */
  async #connect(signal: AbortSignal): Promise<Socket | ParentFailure> {
    const { host, port } = this.#options.proxy;
    const addresses = await this.#resolve(host, signal);
    if (!addresses) return parentFailed('UNRESOLVED');
    const dialled = await connectFirst(addresses, port, signal);
    if (!dialled) return parentFailed('UNREACHABLE');
    if (!this.#trust) return dialled.socket;
    const secured = await secureParent(dialled.socket, host, this.#trust, signal);
    if (secured instanceof ParentFailure) dialled.socket.destroy();
    return secured;
  }

  async #resolve(host: string, signal: AbortSignal): Promise<readonly Address[] | null> {
    const literal = parseAddress(host);
    if (literal) return [literal];
    try {
      return await this.#options.resolver.resolve(host, signal);
    } catch (error) {
      if (signal.aborted || error instanceof ResolveFailure) return null;
      throw error;
    }
  }
}
