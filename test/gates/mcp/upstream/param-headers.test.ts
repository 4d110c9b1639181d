/** Arguments in the head of a call: which texts stand as they are, and what never gets there. */
import { describe, expect, it } from 'vitest';
import {
  encodeHeaderText,
  formParamHeaders,
  keepParamHeaders,
} from '../../../../gates/mcp/upstream/param-headers.ts';

describe('a text in a head', () => {
  const rows = [
    ['eu-west 1', 'eu-west 1'],
    ['', '=?base64??='],
    [' edge', '=?base64?IGVkZ2U=?='],
    ['a\r\nb: c', '=?base64?YQ0KYjogYw==?='],
    ['é', '=?base64?w6k=?='],
    ['=?base64?IGVkZ2U=?=', '=?base64?PT9iYXNlNjQ/SUdWa1oyVT0/PQ==?='],
  ] as const;
  it.each(rows)('%j is %s', (text, line) => expect(encodeHeaderText(text)).toBe(line));
});

describe('the lines of a call', () => {
  it('are those of the arguments that are there', () => {
    const param = (...path: string[]) => ({ path, header: `Mcp-Param-${path.join('-')}` });
    const args = { a: 'x', b: { c: true }, n: 1.5, big: 2 ** 60, list: [1], none: null };
    expect(
      formParamHeaders(
        [
          param('a'),
          param('b', 'c'),
          param('n'),
          param('big'),
          param('list'),
          param('none'),
          param('toString'),
        ],
        args,
      ),
    ).toEqual({ 'Mcp-Param-a': 'x', 'Mcp-Param-b-c': 'true', 'Mcp-Param-n': '1.5' });
  });
  it('are no others', () => {
    const given = {
      'Mcp-Param-A': '1',
      authorization: 'x',
      'mcp-session-id': 'x',
      'Mcp-Param-B': 'a\r\nb',
      'mcp-param-': 'x',
    };
    expect(keepParamHeaders(given)).toEqual({ 'Mcp-Param-A': '1' });
  });
});
