/** Which tools a manifest lets a session see: names with stars, and hints. */
import { describe, expect, it } from 'vitest';
import { matches, mayHint, mayName } from '../../../../gates/mcp/see/tool-rules.ts';

it.each([
  ['read', 'read', true],
  ['read', 'read_all', false],
  ['*', '', true],
  ['*', 'anything', true],
  ['read_*', 'read_', true],
  ['read_*', 'unread_x', false],
  ['*_write', 'file_write', true],
  ['*_write', 'write', false],
  ['a*b*c', 'abc', true],
  ['a*b*c', 'aXbYc', true],
  ['a*b*c', 'acb', false],
  ['ab*ba', 'aba', false],
  ['**', 'x', true],
  ['a*a*a', 'aa', false],
  ['a.c', 'abc', false],
])('%s matches %s: %s', (pattern, name, matched) => {
  expect(matches(pattern, name)).toBe(matched);
});

it.each([
  [['*'], [], 'x', true],
  [['*'], ['x'], 'x', false],
  [['x'], ['x'], 'x', false],
  [['x'], ['*'], 'x', false],
  [[], [], 'x', false],
  [['y', 'x*'], ['xy'], 'xz', true],
])('allow %j and deny %j of %s: %s', (allow, deny, name, may) => {
  expect(mayName({ tools: { allow, deny }, hints: 'any' }, name)).toBe(may);
});

describe('hints', () => {
  const rows = [
    [undefined, true, false, false],
    ['read only', true, false, false],
    [{}, true, false, false],
    [{ readOnlyHint: true }, true, true, true],
    [{ readOnlyHint: 'true' }, true, false, false],
    [{ destructiveHint: false }, true, true, false],
    [{ destructiveHint: true }, true, false, false],
    [{ readOnlyHint: true, destructiveHint: true }, true, true, true],
  ] as const;
  it.each(rows)('%j', (annotations, any, notDestructive, readOnly) => {
    const tools = { allow: ['*'], deny: [] };
    const may = (['any', 'not_destructive', 'read_only'] as const).map((hints) =>
      mayHint({ tools, hints }, annotations),
    );
    expect(may).toEqual([any, notDestructive, readOnly]);
  });
});
