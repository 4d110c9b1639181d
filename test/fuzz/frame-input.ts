/** What a client of HTTP/2 might send: frames, more or less odd, with heads that are compressed plainly. */
import fc from 'fast-check';
import { type Mutation, mutate, mutations } from './mutate.ts';

export interface FrameInput {
  readonly frames: readonly Frame[];
  readonly changes: readonly Mutation[];
}

interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Payload;
}

type Payload =
  | { readonly kind: 'head'; readonly lines: readonly (readonly [string, string])[] }
  | { readonly kind: 'bytes'; readonly text: string };

export function frameInputs(): fc.Arbitrary<FrameInput> {
  return fc.record({
    frames: fc.array(
      fc.oneof({ weight: 5, arbitrary: headFrame() }, { weight: 2, arbitrary: otherFrame() }),
      { minLength: 1, maxLength: 8 },
    ),
    changes: mutations(),
  });
}

/** With the preface and the settings, which are not changed. @param authority the lane’s `host:port` */
export function renderFrames({ frames, changes }: FrameInput, authority: string): Buffer {
  const numbered = frames.map((frame, at) => ({
    ...frame,
    // Ids only grow: most heads open a stream, and most of the rest is for the one before.
    stream: frame.stream === 1 ? 2 * at + 1 : frame.stream === 3 ? Math.max(0, 2 * at - 1) : frame.stream,
  }));
  const sent = mutate(Buffer.concat(numbered.map((frame) => renderFrame(frame, authority))), changes);
  return Buffer.concat([Buffer.from(PREFACE), frameOf(4, 0, 0, Buffer.alloc(0)), sent]);
}

/** The paths that it asks for, odd or not. */
export function pathsOf({ frames }: FrameInput): ReadonlySet<string> {
  return new Set(
    frames.flatMap(({ payload }) =>
      payload.kind === 'head'
        ? payload.lines.filter(([name]) => name === ':path').map(([, path]) => path)
        : [],
    ),
  );
}

function renderFrame({ type, flags, stream, payload }: Frame, authority: string): Buffer {
  const bytes =
    payload.kind === 'bytes'
      ? Buffer.from(payload.text, 'latin1')
      : Buffer.concat(
          payload.lines.map(([name, value]) => literal(name, value.replaceAll('AUTHORITY', authority))),
        );
  return frameOf(type, flags, stream, bytes);
}

function frameOf(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** RFC 7541 6.2.2: a new name, never in the table. */
function literal(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.from([0]), text(name), text(value)]);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1');
  if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes]);
  const rest = bytes.length - 127;
  const more: number[] = [];
  for (let left = rest; ; left >>= 7) {
    more.push(left < 128 ? left : (left & 127) | 128);
    if (left < 128) break;
  }
  return Buffer.concat([Buffer.from([127, ...more]), bytes]);
}

const streams = (usual: 1 | 3) =>
  fc.oneof({ weight: 9, arbitrary: fc.constant(usual) }, fc.constantFrom(0, 2, 9, 2 ** 31 - 1));
const bytes = (value: string): Payload => ({ kind: 'bytes', text: value });

function headFrame(): fc.Arbitrary<Frame> {
  return fc.record({
    type: fc.constant(1),
    flags: fc.constantFrom(5, 5, 5, 4, 1, 0, 0x2d),
    stream: streams(1),
    payload: fc
      .tuple(
        mostly(':method', 'GET', ['POST', 'HEAD', 'CONNECT', 'TRACE', 'get', '', 'G\r\nT']),
        mostly(':scheme', 'https', ['http', 'ftp', '']),
        mostly(':authority', 'AUTHORITY', ['canary.test', 'AUTHORITY.', 'a@AUTHORITY', '', 'AUTHORITY\r\n']),
        mostly(':path', '/a', [
          '/b?c',
          '*',
          '',
          'canary.test',
          '//canary.test/',
          '/a b',
          '/\r\nHost: canary.test',
          'https://canary.test/',
        ]),
        fc.oneof(fc.constant([]), fc.array(fc.constantFrom(...LINES), { maxLength: 3 })),
      )
      .map(
        ([method, scheme, authority, path, more]): Payload => ({
          kind: 'head',
          lines: [method, scheme, authority, path, ...more],
        }),
      ),
  });
}

function mostly(
  name: string,
  usual: string,
  odd: readonly string[],
): fc.Arbitrary<readonly [string, string]> {
  return fc
    .oneof({ weight: 15, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...odd) })
    .map((value) => [name, value] as const);
}

function otherFrame(): fc.Arbitrary<Frame> {
  return fc.record({
    // DATA, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION, and some that are none.
    type: fc.constantFrom(0, 0, 0, 0, 2, 3, 3, 4, 5, 6, 7, 8, 8, 9, 12, 0xbe),
    flags: fc.constantFrom(0, 1, 4, 5, 8, 255),
    stream: streams(3),
    payload: fc.oneof(fc.constantFrom(...PAYLOADS).map(bytes), fc.string({ maxLength: 30 }).map(bytes)),
  });
}

const LINES: readonly (readonly [string, string])[] = [
  ['authorization', 'Bearer evil'],
  ['Authorization', 'Bearer evil'],
  ['authorization ', 'evil'],
  ['host', 'canary.test'],
  ['host', 'AUTHORITY'],
  ['content-length', '5'],
  ['content-length', '0'],
  ['content-length', '-1'],
  ['transfer-encoding', 'chunked'],
  ['connection', 'close'],
  ['upgrade', 'websocket'],
  ['te', 'trailers'],
  ['te', 'chunked'],
  ['proxy-authorization', 'evil'],
  [':protocol', 'websocket'],
  [':status', '200'],
  [':path', '/other'],
  ['x-a', 'b\r\nauthorization: evil'],
  ['x-a', 'b\0c'],
  ['x-a\r\nx-b', 'c'],
  ['x-a: b', 'c'],
  ['', 'x'],
  ['cookie', 'a=b'],
  ['expect', '100-continue'],
  ['x-long', 'a'.repeat(9_000)],
];
const PAYLOADS = [
  '',
  'hello',
  '\0\0\0\x08',
  '\0\0\0\0',
  '\x7f\xff\xff\xff',
  '\0\x04\0\0\0\0',
  '\0\x04\x7f\xff\xff\xff',
  '\0\x05\0\0\0\0',
  '\0\x02\0\0\0\x01',
  '\0\x01\xff\xff\xff\xff',
  '12345678',
  '\0\0\0\0\0\0\0\0',
  '\0\0\0\x01\x10',
  'a'.repeat(16_384),
];
const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
