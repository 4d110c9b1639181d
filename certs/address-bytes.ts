/** An IP address as the bytes that a certificate says it in (RFC 5280, 4.2.1.6). */
import { isIP } from 'node:net';

/** 4 or 16 bytes; `null` for what is no IP address. */
export function addressBytes(text: string): Buffer | null {
  switch (isIP(text)) {
    case 4:
      return Buffer.from(text.split('.').map(Number));
    case 6:
      return sixteenBytes(text);
    default:
      return null;
  }
}

function sixteenBytes(text: string): Buffer {
  const [head = '', tail] = text.split('%', 1)[0]?.split('::') ?? [];
  const [before, after] = [groupBytes(head), groupBytes(tail ?? '')];
  return Buffer.concat([before, Buffer.alloc(16 - before.length - after.length), after]);
}

/** The last group may be an IPv4 address. */
function groupBytes(text: string): Buffer {
  const groups = text === '' ? [] : text.split(':');
  return Buffer.concat(
    groups.map((group) => addressBytesOfFour(group) ?? Buffer.from(group.padStart(4, '0'), 'hex')),
  );
}

function addressBytesOfFour(group: string): Buffer | null {
  return group.includes('.') ? addressBytes(group) : null;
}
