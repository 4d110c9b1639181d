/** Results that are too large: refused, or their text cut. */
import { expect, it } from 'vitest';
import { limitResult, sizeOf } from '../../../../gates/mcp/see/result-limit.ts';

const said = (...texts: string[]) => ({ content: texts.map((text) => ({ type: 'text', text })), other: 1 });
const limit = (result: object, resultBytes: number, onLargeResult: 'error' | 'cut', method = 'tools/call') =>
  limitResult(method, result as Record<string, unknown>, { resultBytes, onLargeResult });

it('leaves what fits, and lists, as they are', () => {
  expect(limit(said('x'), 1_000, 'error')).toEqual({ result: said('x') });
  const list = { tools: ['x'.repeat(2_000)] };
  expect(limit(list, 1_000, 'error', 'tools/list')).toEqual({ result: list });
});

it('says that a result is too large, and that it was given', () => {
  expect(limit(said('x'.repeat(2_000)), 1_000, 'error')).toMatchObject({
    failure: 'too_large',
    mayHaveRun: true,
  });
});

it.each([['x'], ['é'], ['"'], ['😀'], ['\u0001']])(
  'cuts texts of %j, with a note, to what is allowed',
  (letter) => {
    const texts = ['whole', letter.repeat(5_000), letter.repeat(10)];
    const cut = limit(said(...texts), 1_500, 'cut');
    if (!('result' in cut)) throw new Error('it was refused');
    const { content, other } = cut.result as ReturnType<typeof said>;
    expect(other).toBe(1);
    expect(sizeOf(cut.result)).toBeLessThanOrEqual(1_500);
    expect(sizeOf(cut.result)).toBeGreaterThan(1_100);
    expect(content[0]?.text).toBe('whole');
    expect(content[1]?.text).toMatch(/\n\[cut: \d+ characters more\]$/);
    expect(content[1]?.text.isWellFormed()).toBe(true);
  },
);

it('cuts the texts of a resource', () => {
  const result = { contents: [{ uri: 'a:b', text: 'x'.repeat(5_000) }] };
  expect(limit(result, 1_000, 'cut', 'resources/read')).toMatchObject({
    result: { contents: [{ uri: 'a:b' }] },
  });
});

it.each([
  ['an image', { content: [{ type: 'image', data: 'x'.repeat(2_000) }] }],
  ['structured content', { content: [], structuredContent: { x: 'x'.repeat(2_000) } }],
  ['no list at all', { content: 'x'.repeat(2_000) }],
])('refuses %s that is too large whatever is cut', (_what, result) => {
  expect(limit(result, 1_000, 'cut')).toMatchObject({ failure: 'too_large' });
});
