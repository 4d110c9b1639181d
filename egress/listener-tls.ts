/**
 * What the TLS listener shows: the operator's certificate, or one of the egress CA for the listener's own names. It is
 * looked at again every few seconds, so that a renewed file or another CA needs no restart. What cannot be used is
 * said once, and the one before goes on; connections that are open keep what they began with.
 */
import { constants, createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext, createServer, type Server, type TlsOptions } from 'node:tls';
import type { LeafCache } from '../certs/leaf-cache.ts';
import type { Config } from '../core-lite/config.ts';
import { Fault } from '../core-lite/errors.ts';
import type { Logger } from '../core-lite/log.ts';

interface Material {
  readonly cert: string;
  readonly key: string;
}

export class ListenerTls {
  readonly #read: () => Promise<Material>;
  readonly #log: Logger;
  readonly #ticketKeys: Buffer;
  readonly #timer: NodeJS.Timeout;
  readonly server: Server;
  /** Of what was looked at last, good or not. */
  #seen: string;
  #said = '';

  private constructor(read: () => Promise<Material>, first: Material, ticketKeys: Buffer, log: Logger) {
    this.#read = read;
    this.#log = log;
    this.#ticketKeys = ticketKeys;
    this.#seen = digestOf(first);
    this.server = createServer({
      ...this.#optionsFor(first),
      ALPNProtocols: ['http/1.1'],
      handshakeTimeout: HANDSHAKE_LIMIT_MS,
      allowHalfOpen: true,
      noDelay: true,
      keepAlive: true,
    });
    // One that says nothing is only reported by Node when its time is up.
    this.server.on('tlsClientError', (_error, socket) => socket.destroy());
    this.#timer = setInterval(() => void this.#look(), LOOK_MS);
    this.#timer.unref();
  }

  /** Rejects with Fault `config_invalid` where the operator's files cannot be used. */
  static async open(config: Config, leaves: LeafCache, log: Logger, now: () => Date): Promise<ListenerTls> {
    const read = materialReader(config, leaves, now);
    const first = await read().catch((error: unknown) => {
      throw unusable(config, error);
    });
    try {
      return new ListenerTls(read, first, leaves.serverOptions.ticketKeys, log);
    } catch (error) {
      throw unusable(config, error);
    }
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    try {
      const material = await this.#read();
      const digest = digestOf(material);
      if (digest !== this.#seen) {
        this.#seen = digest;
        this.#show(material);
      }
      this.#said = '';
    } catch (error) {
      // One line for one fault, however often it is looked at.
      if (String(error) !== this.#said) {
        this.#log.error(
          { err: error },
          'the new certificate of the TLS listener cannot be used; the old goes on',
        );
      }
      this.#said = String(error);
    }
  }

  #show(material: Material): void {
    const options = this.#optionsFor(material);
    // Thrown here, and not while it is put in place: what does not fit together must not take effect by half.
    createSecureContext(options);
    this.server.setSecureContext(options);
    this.#log.info('the TLS listener shows another certificate');
  }

  #optionsFor(material: Material): TlsOptions {
    return { ...PROTOCOL, ...material, ticketKeys: this.#ticketKeys };
  }
}

function materialReader(config: Config, leaves: LeafCache, now: () => Date): () => Promise<Material> {
  const { egressTlsCert, egressTlsKey, egressTlsNames, egressTlsListen } = config;
  if (egressTlsCert !== undefined && egressTlsKey !== undefined) {
    return async () => ({
      cert: await readFile(egressTlsCert, 'utf8'),
      key: await readFile(egressTlsKey, 'utf8'),
    });
  }
  const names = [...new Set([...egressTlsNames, egressTlsListen.host.toLowerCase(), ...LOOPBACK])];
  const shown = names.filter((name) => !ANY_ADDRESS.has(name));
  return async () => {
    const leaf = leaves.listenerLeaf(shown, now());
    return { cert: leaf.certificatePem, key: leaf.keyPem };
  };
}

function unusable({ egressTlsCert }: Config, error: unknown): unknown {
  if (egressTlsCert === undefined) return error;
  const why =
    'SALLYPORT_EGRESS_TLS_CERT and SALLYPORT_EGRESS_TLS_KEY cannot be used together, or not be read';
  return new Fault('config_invalid', why, error);
}

function digestOf({ cert, key }: Material): string {
  return createHash('sha256').update(cert).update('\0').update(key).digest('base64');
}

/** TLS 1.2 and 1.3 with authenticated encryption only; an operator's key may be RSA. */
const PROTOCOL = {
  minVersion: 'TLSv1.2',
  ciphers: [
    'TLS_AES_128_GCM_SHA256',
    'TLS_AES_256_GCM_SHA384',
    'TLS_CHACHA20_POLY1305_SHA256',
    'ECDHE-ECDSA-AES128-GCM-SHA256',
    'ECDHE-RSA-AES128-GCM-SHA256',
    'ECDHE-ECDSA-AES256-GCM-SHA384',
    'ECDHE-RSA-AES256-GCM-SHA384',
    'ECDHE-ECDSA-CHACHA20-POLY1305',
    'ECDHE-RSA-CHACHA20-POLY1305',
  ].join(':'),
  // Node's own `disableRenegotiation` reports an error and renegotiates all the same.
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  sessionIdContext: 'sallyport-listener',
} as const satisfies TlsOptions;
const LOOPBACK = ['localhost', '127.0.0.1', '::1'];
const ANY_ADDRESS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);
/** As long as a head may take. */
const HANDSHAKE_LIMIT_MS = 10_000;
const LOOK_MS = 2_000;
