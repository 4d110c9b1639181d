/** Answers in codings with large windows: a session that takes all its places takes none of the others’, and pays. */
import type { ServerResponse } from 'node:http';
import { brotliCompressSync, constants, createBrotliCompress } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { putModel, startTestGates, type TestGates, type TestRun } from '../support/gates.ts';
import { type Provider, startProvider } from '../support/provider.ts';

const KEY = 'sk-canary-places-71c2';
const OPENAI_END = 'data: {"choices":[],"usage":{"prompt_tokens":77,"completion_tokens":50000}}\n\n';
const ANTHROPIC_END =
  'event: message_delta\ndata: {"type":"message_delta","usage":{"input_tokens":77,"output_tokens":50000}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n';
let provider: Provider;
let gates: TestGates;
const open: ServerResponse[] = [];

beforeAll(async () => {
  provider = await startProvider('places.test');
  gates = await startTestGates([provider]);
  await putModel(gates, 'm', provider, { key: KEY });
}, 60_000);
afterAll(async () => {
  for (const response of open) response.destroy();
  await gates?.close();
  await provider?.close();
});

function ask({ token }: TestRun, path: string) {
  const body = '{"model":"m","stream":true,"max_tokens":2000}';
  return gates.ask(path, { headers: { authorization: `Bearer ${token}`, 'accept-encoding': 'br' }, body });
}

const HEAD = { 'content-type': 'text/event-stream', 'content-encoding': 'br' };

/** As many answers as a session has places; they begin and do not end. */
async function takePlaces(run: TestRun): Promise<void> {
  provider.behave = (_asked, response) => {
    const coder = createBrotliCompress();
    response.writeHead(200, HEAD);
    coder.pipe(response);
    coder.write('data: {"choices":[]}\n\n');
    coder.flush(constants.BROTLI_OPERATION_FLUSH);
    open.push(response);
  };
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const headers = { authorization: `Bearer ${run.token}`, 'accept-encoding': 'br' };
      const body = '{"model":"m","stream":true,"stream_options":{"include_usage":true}}';
      const onData = () => void resolve();
      gates.ask('/v1/chat/completions', { headers, body, onData }).catch(() => {});
      await promise;
    }),
  );
}

describe('a session that takes all its places', () => {
  it('is charged what it reserved for what is not read, and others are metered and masked as ever', async () => {
    const run = await gates.run();
    const other = await gates.run();
    await takePlaces(run);
    let said = '';
    provider.behave = (_asked, response) => void response.writeHead(200, HEAD).end(brotliCompressSync(said));
    for (const [path, end] of [
      ['/v1/chat/completions', OPENAI_END],
      ['/v1/messages', ANTHROPIC_END],
    ] as const) {
      said = end;
      expect((await ask(run, path)).whole).toBe(true);
      expect((await ask(other, path)).whole).toBe(true);
    }
    const unread = await gates.usage(run, 2);
    expect(unread).toMatchObject(Array(2).fill({ outcome: 'completed', presumed: true }));
    for (const row of unread) expect(Number(row.output_tokens)).toBeGreaterThanOrEqual(2_000);
    const counted = { outcome: 'completed', input_tokens: '77', output_tokens: '50000', presumed: false };
    expect(await gates.usage(other, 2)).toMatchObject([counted, counted]);
    said = `data: {"said":"${KEY}"}\n\n`;
    expect((await ask(other, '/v1/chat/completions')).whole).toBe(false);
  });

  it('is charged no less when it leaves', async () => {
    const run = await gates.run();
    await takePlaces(run);
    const headers = { authorization: `Bearer ${run.token}`, 'accept-encoding': 'br' };
    const body = '{"model":"m","stream":true,"max_tokens":2000}';
    await gates.ask('/v1/messages', { headers, body, onData: () => true }).catch(() => {});
    const [row] = await gates.usage(run, 1);
    expect(row).toMatchObject({ outcome: 'client_left', presumed: true, output_tokens: '2000' });
  });
});
