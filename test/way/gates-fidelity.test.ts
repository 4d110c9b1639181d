/**
 * The same odd calls straight to a provider and through the gates: what the provider gets and what the client gets are the
 * same bytes and the same header lines, in their order and spelling. What the gates change is listed: for every call
 * below, and for single ones in test/support/fidelity/listed-calls.ts.
 */
import type { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DIALECTS } from '../../core-lite/state/dialect.ts';
import { listChanges } from '../support/fidelity/listed-calls.ts';
import type { OddAnswer, OddCall } from '../support/fidelity/odd-call.ts';
import { makeOddCalls } from '../support/fidelity/odd-calls.ts';
import { exchange, type RawAnswer, trimLine } from '../support/fidelity/raw-exchange.ts';
import { putModel, startTestGates, type TestGates, type TestRun } from '../support/gates.ts';
import { type Asked, type Provider, startProvider } from '../support/provider.ts';

/** Not the provider's to know, or set anew for it: the host, the framing, the credential. */
const REQUEST_OURS = [
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'authorization',
  'x-api-key',
  'x-goog-api-key',
];
/** Of the connection that an answer comes on. */
const ANSWER_OURS = ['connection', 'keep-alive', 'transfer-encoding'];

const KEY = 'sk-canary-fidelity-6b02';
const SEED = 20_261_129;
const MADE = 170;
let provider: Provider;
let gates: TestGates;
let run: TestRun;

beforeAll(async () => {
  provider = await startProvider('plain.test', { plain: true });
  gates = await startTestGates([provider]);
  await putModel(gates, 'm', provider, { key: KEY, dialects: DIALECTS });
  await putModel(gates, 'alias', provider, { key: KEY, dialects: DIALECTS, upstreamName: 'real/one' });
  run = await gates.run();
}, 60_000);
afterAll(async () => {
  await gates?.close();
  await provider?.close();
});

interface Passed {
  readonly asked: Asked;
  readonly answer: RawAnswer;
}

async function pass(call: OddCall, port: number, credential: string): Promise<Passed> {
  provider.asked.length = 0;
  provider.behave = (_asked, _response, socket) => void write(socket, call.answer);
  const answer = await exchange(port, render(call, port, credential));
  const [asked, more] = provider.asked;
  if (!asked || more)
    throw new Error(`${provider.asked.length} requests came: ${answer.first} ${answer.body}`);
  return { asked, answer };
}

/** The bytes of a request. */
function render({ path, lines, body, chunked }: OddCall, port: number, credential: string): Buffer {
  const framing = chunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.length}`;
  const all = [`Host: 127.0.0.1:${port}`, credential, ...lines, framing, 'Connection: close'];
  const head = Buffer.from(`POST ${path} HTTP/1.1\r\n${all.join('\r\n')}\r\n\r\n`, 'latin1');
  return Buffer.concat([head, chunked ? enchunk(body, chunked) : body]);
}

function enchunk(body: Buffer, size: number): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < body.length; at += size) {
    const part = body.subarray(at, at + size);
    parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'));
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
}

async function write(socket: Socket, { status, lines, pieces, framing }: OddAnswer): Promise<void> {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const framed = {
    length: `Content-Length: ${length}`,
    chunked: 'Transfer-Encoding: chunked',
    close: 'X-Framing: none',
  };
  const head = [`HTTP/1.1 ${status}`, ...lines, framed[framing], 'Connection: close', '', ''];
  socket.setNoDelay(true).write(head.join('\r\n'), 'latin1');
  for (const piece of pieces) {
    socket.write(framing === 'chunked' ? enchunk(piece, piece.length).subarray(0, -5) : piece);
    if (pieces.length < 1_000) await turn();
  }
  socket.end(framing === 'chunked' ? '0\r\n\r\n' : '');
}

function without(lines: readonly string[], names: readonly string[]): string[] {
  return lines.filter((line) => !names.includes(line.slice(0, line.indexOf(':')).toLowerCase()));
}

function linesOf({ rawHeaders }: Asked): string[] {
  return rawHeaders.flatMap((name, i) => (i % 2 === 0 ? [trimLine(`${name}:${rawHeaders[i + 1]}`)] : []));
}

async function compare(call: OddCall, credential: string): Promise<void> {
  const straight = await pass(call, provider.port, `Authorization: Bearer ${KEY}`);
  const through = await pass(call, gates.gates.address.port, credential);
  const { changes = {} } = call;
  const wanted = {
    first: straight.answer.first,
    path: changes.path ?? straight.asked.path,
    request: without(linesOf(straight.asked), [...REQUEST_OURS, ...(changes.requestDrops ?? [])]),
    answer: without(straight.answer.lines, [...ANSWER_OURS, ...(changes.answerDrops ?? [])]).map(
      (line) => changes.answerLines?.[line] ?? line,
    ),
  };
  expect({
    first: through.answer.first,
    path: through.asked.path,
    request: without(linesOf(through.asked), REQUEST_OURS),
    answer: without(through.answer.lines, ANSWER_OURS),
  }).toEqual(wanted);
  expectBytes(through.asked.body, changes.body ?? straight.asked.body);
  expectBytes(through.answer.body, changes.answerBody ?? straight.answer.body);
  expectCredential(through.asked);
}

function expectBytes(bytes: Buffer, wanted: string | Buffer): void {
  if (!bytes.equals(Buffer.from(wanted)))
    expect(bytes.toString('latin1')).toBe(Buffer.from(wanted).toString('latin1'));
}

/** The key where the dialect has it, and only there; the token nowhere. */
function expectCredential(asked: Asked): void {
  const place = /\/messages/.test(asked.path)
    ? `x-api-key: ${KEY}`
    : /v1beta/.test(asked.path)
      ? `x-goog-api-key: ${KEY}`
      : `authorization: Bearer ${KEY}`;
  const all = JSON.stringify([asked.path, asked.rawHeaders]);
  expect([all.split(KEY).length - 1, all.includes(run.token)]).toEqual([1, false]);
  expect(linesOf(asked)).toContainEqual(place);
}

const PLACES = [
  (token: string) => `Authorization: Bearer ${token}`,
  (token: string) => `x-api-key: ${token}`,
  (token: string) => `X-Goog-Api-Key: ${token}`,
];

describe('straight and through the gates', () => {
  const made = makeOddCalls(SEED, MADE);
  for (const [i, call] of made.entries()) {
    it(call.name, () => compare(call, PLACES[i % PLACES.length]?.(run.token) ?? ''));
  }

  for (const { name } of listChanges('', '')) {
    it(`a listed change: ${name}`, async () => {
      const call = listChanges(KEY, run.token).find((each) => each.name === name);
      if (call) await compare(call, `Authorization: Bearer ${run.token}`);
      expect(call?.changes).toBeDefined();
    });
  }

  it('are as many as they should be', () => {
    expect(made.length).toBeGreaterThanOrEqual(150);
    expect(new Set(made.map(({ path }) => path.split(/[?]/)[0])).size).toBeGreaterThanOrEqual(6);
  });
});
