/** One request and its answer in raw bytes, read without any library's view of what a header or a body is. */
import { connectTo } from '../client.ts';

export interface RawAnswer {
  /** The status line. */
  readonly first: string;
  /** In their order, without blanks at a value's ends. */
  readonly lines: readonly string[];
  /** Without its framing. */
  readonly body: Buffer;
}

/** Sends all at once on a connection of its own, and reads to its end. */
export async function exchange(port: number, request: Buffer): Promise<RawAnswer> {
  const peer = await connectTo(port);
  try {
    peer.send(request);
    const ending = await peer.ending();
    const { first, lines, rest } = parseHead(peer.received);
    const chunked = lines.some((line) => /^transfer-encoding: chunked$/i.test(line));
    const body = chunked ? dechunk(rest) : rest;
    if (ending !== 'end' || body === null) throw new Error(`broken off: ${peer.received}`);
    return { first, lines, body };
  } finally {
    peer.close();
  }
}

function parseHead(bytes: Buffer) {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) throw new Error(`no head: ${bytes}`);
  const [first = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  return { first, lines: lines.map(trimLine), rest: bytes.subarray(end + 4) };
}

export function trimLine(line: string): string {
  const colon = line.indexOf(':');
  return `${line.slice(0, colon)}: ${line.slice(colon + 1).trim()}`;
}

/** `null` where the last chunk is missing. */
function dechunk(bytes: Buffer): Buffer | null {
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const end = bytes.indexOf('\r\n', at);
    const size = end < 0 ? Number.NaN : Number.parseInt(bytes.toString('latin1', at, end), 16);
    if (Number.isNaN(size)) return null;
    if (size === 0) return Buffer.concat(parts);
    parts.push(bytes.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
}
