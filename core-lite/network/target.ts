/**
 * Where a CONNECT wants to go: one anchored pattern over its raw text and nothing else. No URL parser, no IDNA, no
 * trimming, no `parseInt`: every proxy that reads a target in steps reads some hostile ones as an allowed name. A text
 * that does not match is no target, however plainly it seems to be meant.
 */
import { HOST_NAME, isAddressSpelling, MAX_NAME_LENGTH } from './host-name.ts';

/** Made by `parseTarget` only. */
export class Target {
  declare private readonly brand: 'target';
  /** The name in lower case; a bracketed literal keeps its brackets, so that `host:port` is always a true spelling. */
  readonly host: string;
  /** 1 to 65535. */
  readonly port: number;
  /** Whether the host is an IP address in any spelling, or what a library might take for one. */
  readonly literal: boolean;

  constructor(host: string, port: number, literal: boolean) {
    this.host = host;
    this.port = port;
    this.literal = literal;
  }
}

/**
 * The target of a CONNECT, or null: `host ":" port`, an LDH host name without a trailing dot or what looks like an
 * address in brackets, and a decimal port without leading zeros. Whether a literal is a valid address does not
 * matter, because all are refused. `localhost` and names under it are ordinary names: they are never reached, because
 * they resolve to loopback or to nothing, and the addresses are judged.
 */
export function parseTarget(text: string): Target | null {
  if (text.length > MAX_TARGET_LENGTH) return null;
  const parts = TARGET.exec(text)?.groups;
  const host = parts?.['host']?.toLowerCase();
  const port = Number(parts?.['port']);
  if (host === undefined || host.length > MAX_NAME_LENGTH || port > 65_535) return null;
  return new Target(detach(host), port, host.startsWith('[') || isAddressSpelling(host));
}

/** `host:port`, as a client would write it. */
export function formatTarget(target: Target): string {
  return `${target.host}:${target.port}`;
}

/** V8 keeps the whole text alive that a piece was cut out of: here the head, as long as its tunnel lives. */
function detach(ascii: string): string {
  return Buffer.from(ascii, 'latin1').toString('latin1');
}

// The zone id (`%lo`) is taken as a part of a literal, so that its answer is `ip_literal` and says what to do.
const BRACKETED = String.raw`\[[0-9A-Fa-f:.]{2,45}(?:%[0-9A-Za-z._~-]{1,32})?\]`;
const TARGET = new RegExp(`^(?<host>${HOST_NAME}|${BRACKETED}):(?<port>[1-9][0-9]{0,4})$`);
const MAX_TARGET_LENGTH = MAX_NAME_LENGTH + ':65535'.length;
