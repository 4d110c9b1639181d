/** Heads as bytes: the very lines that came, and what stands for the connection that they go out on. */
import type { HeaderLine, RequestHead, ResponseHead } from './head.ts';

/** A line of our own. @param value latin1 without control characters */
export function makeLine(name: string, value: string): HeaderLine {
  return { name: name.toLowerCase(), value, raw: `${name}: ${value}` };
}

export function writeRequestHead({ method, target, minor, headers }: RequestHead): Buffer {
  return writeHead(`${method} ${target} HTTP/1.${minor}`, headers);
}

/** @param close whether the client's connection ends with it */
export function writeResponseHead({ line, headers }: ResponseHead, close: boolean): Buffer {
  return writeHead(line, close ? [...headers, CLOSE] : headers);
}

function writeHead(first: string, headers: readonly HeaderLine[]): Buffer {
  return Buffer.from(`${[first, ...headers.map(({ raw }) => raw)].join('\r\n')}\r\n\r\n`, 'latin1');
}

const CLOSE = makeLine('Connection', 'close');
