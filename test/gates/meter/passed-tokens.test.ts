/** How much passed of a stream that never told its usage: about as many tokens as its text has, however it is cut. */
import { describe, expect, it } from 'vitest';
import { PassedTokens } from '../../../gates/meter/passed-tokens.ts';

const WORDS = Array.from({ length: 400 }, (_, i) => (i % 3 === 0 ? ' over' : ' the'));
const chunk = (content: string): string =>
  `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":${JSON.stringify(content)}},"finish_reason":null}]}\n\n`;
const count = (text: string, size = text.length): number => {
  const passed = new PassedTokens();
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) passed.add(bytes.subarray(at, at + size));
  return passed.tokens;
};

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
});
