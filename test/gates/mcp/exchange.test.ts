/** When the answer to a message begins as a stream: by itself where it takes long, never where it needs headers of its own. */
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Exchange } from '../../../gates/mcp/downstream/exchange.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it.each([
  [{}, 'text/event-stream', undefined],
  [{ whole: true }, 'application/json', 'one'],
])('with %j the answer after a minute is %s', (options, type, session) => {
  const heads: Record<string, unknown>[] = [];
  const response = {
    headersSent: false,
    destroyed: false,
    once: () => response,
    on: () => response,
    writeHead: (_status: number, head: Record<string, unknown>) => {
      heads.push(head);
      response.headersSent = true;
      return response;
    },
    write: () => true,
    flushHeaders: () => {},
    end: () => response,
  };
  const exchange = new Exchange(response as unknown as ServerResponse, options);
  vi.advanceTimersByTime(60_000);
  exchange.finish({ jsonrpc: '2.0', id: 1, result: {} }, 200, { 'mcp-session-id': 'one' });
  expect(heads).toHaveLength(1);
  expect(heads[0]?.['content-type']).toBe(type);
  expect(heads[0]?.['mcp-session-id']).toBe(session);
});
