/** What a meter reads of an answer: tables of real endings, however they are cut. */
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { TokenCounts } from '../../core-lite/record/usage-ledger.ts';
import type { Dialect } from '../../core-lite/state/dialect.ts';
import { Meter } from '../../gates/meter.ts';

interface Row {
  readonly name: string;
  readonly dialect: Dialect;
  readonly answer: string;
  readonly tokens: Partial<TokenCounts>;
  readonly type?: string;
  readonly encode?: (bytes: Buffer) => Buffer;
  readonly encoding?: string;
}

const NONE: TokenCounts = { input: null, output: null, cached: null, cacheWrite: null, reasoning: null };
const sse = (...events: unknown[]) =>
  events.map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`).join('');
const usage = {
  prompt_tokens: 10,
  completion_tokens: 4,
  prompt_tokens_details: { cached_tokens: 6 },
  completion_tokens_details: { reasoning_tokens: 3 },
};
const START = {
  type: 'message_start',
  message: { usage: { input_tokens: 3, cache_creation_input_tokens: 100, output_tokens: 1 } },
};

const ROWS: readonly Row[] = [
  {
    name: 'openai, whole',
    dialect: 'openai',
    type: 'application/json',
    answer: JSON.stringify({ choices: [], usage }),
    tokens: { input: 10, output: 4, cached: 6, reasoning: 3 },
  },
  {
    name: 'openai, whole and spread over lines',
    dialect: 'openai',
    type: 'application/json',
    answer: JSON.stringify({ usage }, null, 2),
    tokens: { input: 10, output: 4, cached: 6, reasoning: 3 },
  },
  {
    name: 'a tool’s argument that looks like usage',
    dialect: 'anthropic',
    type: 'application/json',
    answer: JSON.stringify({
      content: [{ input: { usage: { output_tokens: 9 } } }],
      usage: { input_tokens: 1, output_tokens: 2 },
    }),
    tokens: { input: 1, output: 2 },
  },
  {
    name: 'gzip',
    dialect: 'openai',
    type: 'application/json',
    encoding: 'gzip',
    encode: gzipSync,
    answer: JSON.stringify({ usage }),
    tokens: { input: 10, output: 4, cached: 6, reasoning: 3 },
  },
  {
    name: 'a compressed stream',
    dialect: 'openai',
    encoding: 'zstd',
    encode: zstdCompressSync,
    answer: sse({ usage }, '[DONE]'),
    tokens: { input: 10, output: 4, cached: 6, reasoning: 3 },
  },
  {
    name: 'usage in the last chunk but one',
    dialect: 'openai',
    answer: sse({ choices: [{}], usage: null }, { choices: [], usage }, { choices: [] }, '[DONE]'),
    tokens: { input: 10, output: 4, cached: 6, reasoning: 3 },
  },
  {
    name: 'usage in every chunk, growing',
    dialect: 'openai',
    answer: sse(
      { usage: { prompt_tokens: 10, completion_tokens: 1 } },
      { usage: { prompt_tokens: 10, completion_tokens: 2 } },
    ),
    tokens: { input: 10, output: 2 },
  },
  { name: 'no usage', dialect: 'openai', answer: sse({ choices: [{}] }, '[DONE]'), tokens: {} },
  {
    name: 'anthropic, cut off after its start',
    dialect: 'anthropic',
    answer: `${sse(START)}data: {"type":"content`,
    tokens: { input: 103, cacheWrite: 100, output: 1 },
  },
  {
    name: 'a later and larger total',
    dialect: 'anthropic',
    answer: sse(START, {
      type: 'message_delta',
      usage: { input_tokens: 500, output_tokens: 70, cache_read_input_tokens: 20 },
    }),
    tokens: { input: 620, output: 70, cached: 20, cacheWrite: 100 },
  },
  {
    name: 'a long middle',
    dialect: 'anthropic',
    answer: sse(
      START,
      ...Array.from({ length: 2000 }, (_, i) => ({ type: 'content_block_delta', text: `"usage" ${i}` })),
      { type: 'message_delta', usage: { output_tokens: 2000 } },
    ),
    tokens: { input: 103, cacheWrite: 100, output: 2000 },
  },
  {
    name: 'line ends of the other kind',
    dialect: 'anthropic',
    answer: sse(START, { type: 'message_delta', usage: { output_tokens: 5 } }).replaceAll('\n', '\r\n'),
    tokens: { input: 103, cacheWrite: 100, output: 5 },
  },
  {
    name: 'numbers that are none',
    dialect: 'openai',
    type: 'application/json',
    answer: '{"usage":{"prompt_tokens":-1,"completion_tokens":"4"}}',
    tokens: {},
  },
  { name: 'no JSON', dialect: 'openai', type: 'application/json', answer: '{"usage":', tokens: {} },
];

describe('a meter', () => {
  for (const {
    name,
    dialect,
    answer,
    tokens,
    type = 'text/event-stream',
    encode = (bytes: Buffer) => bytes,
    encoding = '',
  } of ROWS) {
    it(`counts: ${name}`, async () => {
      const bytes = encode(Buffer.from(answer));
      for (const size of [1, 7, 4096, bytes.length]) {
        const meter = new Meter(dialect, type, encoding);
        for (let at = 0; at < bytes.length; at += size) meter.see(bytes.subarray(at, at + size));
        expect((await meter.read()).tokens).toEqual({ ...NONE, ...tokens });
      }
    });
  }
});
