/** Byte mutations of a rendered text: what a fuzzer does to inputs that a grammar made. */
import fc from 'fast-check';

export interface Mutation {
  readonly kind: 'flip' | 'insert' | 'drop' | 'repeat' | 'overwrite';
  /** Where, of 65,536 parts of the length. */
  readonly at: number;
  /** How many bytes, or which bit. */
  readonly count: number;
  readonly text: string;
}

/** Mostly none, so that the grammar's own oddities get through; else a few. */
export function mutations(): fc.Arbitrary<readonly Mutation[]> {
  const one: fc.Arbitrary<Mutation> = fc.record({
    kind: fc.constantFrom('flip', 'insert', 'drop', 'repeat', 'overwrite'),
    at: fc.nat(65_535),
    count: fc.oneof(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 300 })),
    text: fc.oneof(
      fc.constantFrom(...PIECES),
      fc.nat(255).map((code) => String.fromCharCode(code)),
    ),
  });
  return fc.oneof(
    { weight: 5, arbitrary: fc.constant([]) },
    { weight: 5, arbitrary: fc.array(one, { minLength: 1, maxLength: 4 }) },
  );
}

export function mutate(bytes: Buffer, changes: readonly Mutation[]): Buffer {
  return changes.reduce<Buffer>(mutateOnce, bytes);
}

function mutateOnce(bytes: Buffer, { kind, at: part, count, text }: Mutation): Buffer {
  const at = Math.floor((part / 65_536) * (bytes.length + 1));
  const piece = Buffer.from(text, 'latin1');
  const before = bytes.subarray(0, at);
  switch (kind) {
    case 'flip': {
      const flipped = Buffer.from(bytes);
      if (at < flipped.length) flipped.writeUInt8(flipped.readUInt8(at) ^ (1 << (count % 8)), at);
      return flipped;
    }
    case 'insert':
      return Buffer.concat([before, piece, bytes.subarray(at)]);
    case 'overwrite':
      return Buffer.concat([before, piece, bytes.subarray(at + piece.length)]);
    case 'drop':
      return Buffer.concat([before, bytes.subarray(at + count)]);
    case 'repeat':
      return Buffer.concat([bytes.subarray(0, at + count), bytes.subarray(at)]);
    default:
      return kind satisfies never;
  }
}

/** Where to cut what is sent into pieces, in parts of its length. */
export function cuts(): fc.Arbitrary<readonly number[]> {
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    { weight: 2, arbitrary: fc.array(fc.nat(65_535), { minLength: 1, maxLength: 6 }) },
  );
}

export function cutUp(bytes: Buffer, at: readonly number[]): Buffer[] {
  const ends = [...at.map((part) => Math.floor((part / 65_536) * bytes.length)), bytes.length];
  let start = 0;
  return ends
    .sort((one, other) => one - other)
    .map((end) => {
      const piece = bytes.subarray(start, end);
      start = end;
      return piece;
    })
    .filter((piece) => piece.length > 0);
}

/** What parsers have stumbled over. */
const PIECES = [
  '\r\n',
  '\n',
  '\r',
  '\0',
  ' ',
  '\t',
  ':',
  '\r\n\r\n',
  '\n\n',
  '\r\r\n',
  '\x0b',
  '\x0c',
  '\x85',
  '\xa0',
  '\xff',
  '\r\n ',
  '\r\n\t',
  ';',
  ',',
  '@',
  '#',
  '?',
  '/',
  '\\',
  '..',
  '%2e',
  '%00',
  '[::1]',
  '127.0.0.1',
  '+',
  '-',
  '0x',
  '1e3',
  'Content-Length: 5\r\n',
  'Content-Length: 0\r\n',
  'Content_Length: 5\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Transfer-Encoding:\x0bchunked\r\n',
  'Transfer-Encoding: identity\r\n',
  'Host: canary.test\r\n',
  '@canary.test',
  'canary.test',
  'GET http://canary.test/ HTTP/1.1\r\nHost: canary.test\r\n\r\n',
  '0\r\n\r\n',
  '5\r\nhello\r\n',
  'CONNECT canary.test:443 HTTP/1.1\r\nHost: canary.test:443\r\n\r\n',
  'Connection: close\r\n',
  'Connection: keep-alive, Host\r\n',
  'Expect: 100-continue\r\n',
  'Upgrade: websocket\r\n',
  'HTTP/1.1',
  'HTTP/2.0',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  '\x16\x03\x01\x02\x00\x01\x00',
] as const;
