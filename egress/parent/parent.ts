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
import { ParentFailure, parentFailed } from './failure.ts';
import { basicOf, connectOverHttp } from './http-connect.ts';
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

/** Where a plain HTTP request is written to, and how. */
export interface PlainWay {
  readonly socket: Socket;
  /** `absolute`: the parent wants `http://host:port/path` in the request line (RFC 9112 3.2.2). */
  readonly form: 'origin' | 'absolute';
  /** The value of the `Proxy-Authorization` that goes with an absolute form. */
  readonly authorization: Secret | null;
}

export class Parent {
  readonly #options: ParentOptions;
  readonly #trust: SecureContext | null;

  constructor(options: ParentOptions) {
    this.#options = options;
    this.#trust = options.proxy.scheme === 'https' ? trustOf(options.extraRoots) : null;
  }

  /** A tunnel to the target. @param _proof that the target was allowed. Never rejects for what the parent does. */
  tunnel(_proof: Allow, target: Target, signal: AbortSignal): Promise<Socket | ParentFailure> {
    return this.#within(signal, (limited) => this.#enter(target, limited));
  }

  /** The way for plain HTTP requests to the target. @param _proof that the target was allowed */
  async plain(_proof: Allow, target: Target, signal: AbortSignal): Promise<PlainWay | ParentFailure> {
    const { scheme, login } = this.#options.proxy;
    const viaTunnel = scheme === 'socks5';
    const socket = await this.#within(signal, (limited) =>
      viaTunnel ? this.#enter(target, limited) : this.#connect(limited),
    );
    if (socket instanceof ParentFailure) return socket;
    if (viaTunnel) return { socket, form: 'origin', authorization: null };
    return { socket, form: 'absolute', authorization: login && basicOf(login) };
  }

  /** Whether it answers and takes the login, asked with a name that nobody has (RFC 6761 6.4). For `doctor`. */
  async check(signal: AbortSignal): Promise<ParentFailure | null> {
    const nobody = parseTarget('sallyport.invalid:443');
    if (!nobody) throw new Error('unreachable: the name is well-formed');
    const entered = await this.#within(signal, (limited) => this.#enter(nobody, limited));
    if (!(entered instanceof ParentFailure)) entered.destroy();
    else if (!/^PARENT_(ANSWERED|REFUSED)_/.test(entered.code)) return entered;
    return null;
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
    const { scheme, login } = this.#options.proxy;
    const connect = scheme === 'socks5' ? connectOverSocks : connectOverHttp;
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
