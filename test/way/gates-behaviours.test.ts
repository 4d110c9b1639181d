/**
 * Everything that a provider may do, end to end: what its caller gets, byte for byte where nothing else is said, and what
 * the ledger has of it, in tokens and dollars. Each is asked once: nothing is ever sent again from here.
 */
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sample } from '../../cli/dialect-samples.ts';
import type { Dialect } from '../../core-lite/state/dialect.ts';
import { estimateCost } from '../../gates/price.ts';
import { type Asking, type Behaviour, KEY, reserveFor } from '../support/behaviours/behaviour.ts';
import { CONNECTION_BEHAVIOURS } from '../support/behaviours/connection.ts';
import { OPENAI_BEHAVIOURS } from '../support/behaviours/openai.ts';
import { OTHER_BEHAVIOURS } from '../support/behaviours/other.ts';
import { Wire } from '../support/behaviours/wire.ts';
import { startTestGates, type TestGates } from '../support/gates.ts';
import { type RawProvider, startRawProvider } from '../support/raw-provider.ts';

const BEHAVIOURS = [...OPENAI_BEHAVIOURS, ...CONNECTION_BEHAVIOURS, ...OTHER_BEHAVIOURS];
/** Who speaks a dialect, and which model has a price there. */
const SERVERS: Readonly<Record<Dialect, readonly [provider: string, upstreamName: string]>> = {
  openai: ['openai', 'gpt-5'],
  responses: ['openai', 'gpt-5'],
  embeddings: ['openai', 'text-embedding-3-small'],
  anthropic: ['anthropic', 'claude-sonnet-4-5'],
  gemini: ['google', 'gemini-2.5-flash'],
};
let provider: RawProvider;
let gates: TestGates;
let impatientPort: number;

beforeAll(async () => {
  provider = await startRawProvider('raw.test');
  gates = await startTestGates([provider]);
  const { call } = gates.world;
  const hosts = [`${provider.host}:${provider.port}`];
  await call('PUT', '/v1/vaults/test');
  await call('PUT', '/v1/vaults/test/credentials/key', { kind: 'model_key', hosts, secret: { value: KEY } });
  const baseUrl = `http://${provider.host}:${provider.port}`;
  for (const [dialect, [name, upstreamName]] of Object.entries(SERVERS)) {
    const model = { provider: name, baseUrl, upstreamName, dialects: [dialect], credential: 'test/key' };
    await call('PUT', `/v1/models/${modelOf(dialect)}`, model);
  }
  impatientPort = (await gates.world.gates({ SALLYPORT_STREAM_IDLE: '1s' })).address.port;
}, 60_000);
afterAll(async () => {
  await gates?.close();
  await provider?.close();
});

function modelOf(dialect: string): string {
  return dialect === 'gemini' ? 'google' : dialect;
}

/** What came of an answer. */
class Got {
  response: IncomingMessage | null = null;
  readonly #chunks: Buffer[] = [];
  #size = 0;
  #waiting: { readonly bytes: number; readonly resolve: () => void }[] = [];

  get body(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  take(chunk: Buffer): number {
    this.#size += this.#chunks.push(chunk) > 0 ? chunk.length : 0;
    this.#wake(this.#size);
    return this.#size;
  }

  /** Resolves once there are so many bytes, or no more will come. */
  arrived(bytes: number): Promise<void> {
    if (this.#size >= bytes) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ bytes, resolve }));
  }

  end(): void {
    this.#wake(Number.POSITIVE_INFINITY);
  }

  #wake(size: number): void {
    const ready = this.#waiting.filter(({ bytes }) => bytes <= size);
    this.#waiting = this.#waiting.filter(({ bytes }) => bytes > size);
    for (const { resolve } of ready) resolve();
  }
}

async function ask({ dialect, ask: asking = {} }: Behaviour, token: string, got: Got): Promise<void> {
  const { path, headers, body } = sample(dialect, modelOf(dialect), 'hi');
  const options = {
    host: '127.0.0.1',
    port: asking.impatient ? impatientPort : gates.gates.address.port,
    path: asking.path ?? path,
    method: 'POST',
    headers: { ...headers, authorization: `Bearer ${token}` },
    agent: false,
  };
  await new Promise<void>((resolve, reject) => {
    const request = httpRequest(options);
    request.once('response', (response) => {
      got.response = response;
      read(request, response, asking, got);
      response.once('close', resolve).on('error', () => {});
    });
    request.once('error', (error) => (got.response ? resolve() : reject(error)));
    request.end(JSON.stringify({ ...body, ...asking.more }));
  });
  got.end();
}

function read(request: ClientRequest, response: IncomingMessage, { slow, leavesAt }: Asking, got: Got): void {
  if (leavesAt === 0) request.destroy();
  response.on('data', (chunk: Buffer) => {
    if (got.take(chunk) >= (leavesAt ?? Number.POSITIVE_INFINITY)) request.destroy();
    if (!slow) return;
    response.pause();
    setImmediate(() => response.resume());
  });
}

interface Row {
  readonly outcome: string;
  readonly status: number | null;
  readonly presumed: boolean;
  readonly cost: string | null;
  readonly tokens: readonly (string | null)[];
}

async function readRow(session: string): Promise<Row> {
  for (let tries = 0; tries < 500; tries += 1) {
    const [row] = await gates.owner.query<Row>(
      `SELECT outcome, status, presumed, cost_usd AS cost, ARRAY[input_tokens, output_tokens, cached_tokens,
         cache_write_tokens, reasoning_tokens]::text[] AS tokens FROM model_usage WHERE session_id = $1`,
      [session],
    );
    if (row) return row;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error('the ledger has no row');
}

function expectRow(behaviour: Behaviour, row: Row): void {
  const { outcome, tokens = [], cost, presumed = tokens === 'presumed' } = behaviour.row;
  expect([row.outcome, row.presumed]).toEqual([outcome, presumed]);
  const { dialect } = behaviour;
  const reserved = tokens === 'presumed' ? reserveFor(behaviour, modelOf(dialect), SERVERS[dialect]) : null;
  const counts = reserved ? [reserved.inputTokens, reserved.outputTokens] : (tokens as readonly number[]);
  const padded = [...counts, ...Array<null>(5).fill(null)].slice(0, 5);
  const [, output] = row.tokens;
  // What was cut off is charged by what passed and by its time, which is never twice the same: it has its price.
  const timed = presumed && (tokens === 'presumed' || dialect === 'anthropic');
  if (timed && Number(output) !== padded[1]) {
    expect(Number(output)).toBeGreaterThan(0);
    expect(Number(output)).toBeLessThan(MOST_PRESUMED);
    padded[1] = Number(output);
    const [provider, model] = SERVERS[dialect];
    const used = { input: Number(padded[0]), output: Number(output) };
    expect(Number(row.cost)).toBe(estimateCost({ provider, model, at: new Date() }, used));
  } else expect(row.cost === null ? undefined : Number(row.cost)).toBe(reserved ? reserved.costUsd : cost);
  expect(row.tokens).toEqual(padded.map((count) => (count === null ? null : String(count))));
}

/** Of the longest answer here, of 8 MiB. */
const MOST_PRESUMED = 3_000_000;

function expectReply({ client }: Behaviour, got: Got, sent: Buffer): void {
  const { response, body } = got;
  const { status, whole = true, body: wanted, headers = {} } = client;
  expect([response?.statusCode ?? null, response?.complete ?? false]).toEqual([status, whole]);
  if (wanted === undefined) expect(body.equals(sent) || firstDifference(body, sent)).toBe(true);
  else if (typeof wanted === 'string') expect(body.toString()).toBe(wanted);
  else expect(body.toString()).toMatch(wanted);
  for (const [name, value] of Object.entries(headers)) expect(response?.headers[name]).toEqual(value);
}

function firstDifference(body: Buffer, sent: Buffer): string {
  const at = sent.findIndex((byte, i) => byte !== body[i]);
  return `${body.length} of ${sent.length} bytes, other from ${at}: ${body.subarray(at, at + 80)}`;
}

describe('what a provider does', () => {
  it('has a row for each', () => {
    const names = BEHAVIOURS.map(({ dialect, name }) => `${dialect}: ${name}`);
    expect(new Set(names).size).toBe(names.length);
    expect(names.length).toBeGreaterThanOrEqual(50);
  });

  for (const behaviour of BEHAVIOURS) {
    it(`${behaviour.dialect}: ${behaviour.name}`, { timeout: 30_000 }, async () => {
      const { session, token } = await gates.run();
      const got = new Got();
      const wires: Wire[] = [];
      const scripts: unknown[] = [];
      provider.onRequest = (socket: Socket) => {
        const wire = new Wire(socket, (bytes) => got.arrived(bytes));
        wires.push(wire);
        scripts.push(behaviour.script(wire));
      };
      await ask(behaviour, token, got);
      await Promise.all(scripts);
      expect(wires.length).toBe(1);
      expectReply(behaviour, got, wires[0]?.payload ?? Buffer.alloc(0));
      expectRow(behaviour, await readRow(session));
      expect(gates.world.logged()).not.toContain(KEY);
    });
  }
});
