/** How much passed of a stream that never told its usage: about as many tokens as its text has, however it is cut. */
import { describe, expect, it } from 'vitest';
import type { Dialect } from '../../../core-lite/state/dialect.ts';
import { PassedTokens } from '../../../gates/meter/passed-tokens.ts';

const WORDS = Array.from({ length: 400 }, (_, i) => (i % 3 === 0 ? ' over' : ' the'));
const chunk = (content: string): string =>
  `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":${JSON.stringify(content)}},"finish_reason":null}]}\n\n`;
const count = (text: string, size = text.length, dialect: Dialect = 'openai'): number => {
  const passed = new PassedTokens(dialect);
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) passed.add(bytes.subarray(at, at + size));
  return passed.tokens;
};

const named = (type: string, fields: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
/** Every event of Responses may have all that was asked. */
const ASKED = { response: { id: 'r', instructions: 'be kind '.repeat(2_000), output: [], usage: null } };

const SAID = 'word '.repeat(400);

describe('what passed of a stream', () => {
  it('is not what is around its words', () => {
    const text = WORDS.map(chunk).join('');
    expect(count(text)).toBeGreaterThanOrEqual(WORDS.length);
    expect(count(text)).toBeLessThan(2 * WORDS.length);
    expect(count(text.replaceAll('\n', '\r\n'))).toBe(count(text));
  });

  it('is the same however it is cut', () => {
    const text = [...WORDS.map(chunk), chunk('word '.repeat(500)), 'data: {"cut'].join('');
    for (const size of [1, 2, 7, 1_000, 4_096])
      expect([size, count(text, size)]).toEqual([size, count(text)]);
    const crlf = text.replaceAll('\n', '\r\n');
    for (const size of [3, 1_000]) expect([size, count(crlf, size)]).toEqual([size, count(crlf)]);
  });

  it('is all of its text, in few events or in many', () => {
    const words = 'word '.repeat(200);
    const tokens = (300 * words.length) / 5;
    expect(count(chunk(words).repeat(300))).toBeGreaterThan(tokens * 0.8);
    expect(count(chunk(words.repeat(300)))).toBeGreaterThan(tokens);
    expect(count('')).toBe(0);
    expect(count('x'.repeat(400))).toBe(100);
  });

  it.each<[dialect: Dialect, before: string, event: (word: string) => string]>([
    [
      'anthropic',
      named('message_start', {
        message: { id: 'm', content: [], usage: { input_tokens: 25, output_tokens: 1 } },
      }) +
        named('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }) +
        named('ping', {}),
      (text) => named('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
    ],
    [
      'responses',
      named('response.created', ASKED) + named('response.in_progress', ASKED),
      (delta) =>
        named('response.output_text.delta', { item_id: `msg_${'6'.repeat(50)}`, content_index: 0, delta }),
    ],
    ['openai', `: keep-alive\n\n${chunk('')}`, chunk],
    [
      'gemini',
      '',
      (text) =>
        `data: ${JSON.stringify({ candidates: [{ content: { parts: [{ text }], role: 'model' } }], modelVersion: 'm' })}\r\n\r\n`,
    ],
  ])('is its words alone, whatever else %s says', (dialect, before, event) => {
    const few = before + WORDS.slice(0, 8).map(event).join('');
    expect(count(few, few.length, dialect)).toBeGreaterThanOrEqual(8);
    expect(count(few, few.length, dialect)).toBeLessThanOrEqual(24);
    for (const size of [1, 5, 90, 1_000])
      expect(count(few, size, dialect)).toBe(count(few, few.length, dialect));
    const said = 'word '.repeat(200);
    const long = before + event(said).repeat(3) + event(said).slice(0, -10);
    expect(count(long, long.length, dialect)).toBeGreaterThan(0.8 * 4 * 200);
    expect(count(long, 7, dialect)).toBe(count(long, long.length, dialect));
  });

  it.each<[name: string, dialect: Dialect, event: string]>([
    [
      'an event that names its type late',
      'responses',
      `data: {"item_id":"msg_${'6'.repeat(50)}","output_index":0,"content_index":0,"sequence_number":1,"logprobs":[],"obfuscation":"${'x'.repeat(40)}","delta":"${SAID}","type":"response.output_text.delta"}\n\n`,
    ],
    [
      'an event of data alone with its type behind',
      'anthropic',
      `data: {"index":0,"delta":{"type":"text_delta","text":"${SAID}"},"type":"content_block_delta"}\n\n`,
    ],
    [
      'an event behind a comment',
      'responses',
      `: ${'keep-alive'.repeat(16)}\n${named('response.output_text.delta', { item_id: 'm', delta: SAID })}`,
    ],
    [
      'a block that begins with all of its text',
      'anthropic',
      named('content_block_start', { index: 0, content_block: { type: 'text', text: SAID } }),
    ],
    [
      'an item that is told when it is done',
      'responses',
      named('response.output_item.added', { item: { type: 'function_call', arguments: '' } }) +
        named('response.function_call_arguments.done', { arguments: SAID }) +
        named('response.output_item.done', { item: { type: 'function_call', arguments: SAID } }),
    ],
    ['an error', 'anthropic', named('error', { error: { message: SAID } })],
  ])('is what stands in %s, once', (_, dialect, event) => {
    const tokens = SAID.length / 4;
    expect(count(event, event.length, dialect)).toBeGreaterThan(0.8 * tokens);
    expect(count(event, event.length, dialect)).toBeLessThan(1.4 * tokens);
    for (const size of [1, 90, 1_000])
      expect(count(event, size, dialect)).toBe(count(event, event.length, dialect));
    expect(count(event.repeat(30), event.length, dialect)).toBeGreaterThan(0.8 * 30 * tokens);
  });

  it('is what stands beside its words, but not what Responses says once more', () => {
    const word = named('response.output_text.delta', { item_id: `msg_${'6'.repeat(50)}`, delta: SAID });
    const again =
      named('response.output_text.done', { text: SAID }) +
      named('response.content_part.done', { part: { text: SAID } }) +
      named('response.output_item.done', { item: { content: [{ text: SAID }] } }) +
      named('response.failed', ASKED);
    const alone = count(word, word.length, 'responses');
    expect(count(word + again, 100, 'responses')).toBe(alone);
    const block = named('content_block_start', { index: 0, content_block: { type: 'text', text: SAID } });
    const result = named('content_block_start', {
      index: 0,
      content_block: { type: 'web_search_tool_result', content: SAID },
    });
    const delta = named('content_block_delta', { index: 0, delta: { type: 'text_delta', text: ' the' } });
    expect(count(block + delta, 100, 'anthropic')).toBeGreaterThan(0.8 * (SAID.length / 4));
    expect(count(result + delta, 100, 'anthropic')).toBeLessThan(5);
  });
});
