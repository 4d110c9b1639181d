/** Which exchanges have a row whatever happens: those that anything left for. */
import { expect, test } from 'vitest';
import type { ExchangeEntry } from '../../core-lite/record/exchange-log.ts';
import type { Connection } from '../../egress/connection.ts';
import { Recorder, type RecorderOptions } from '../../egress/record.ts';

const ENTRY: ExchangeEntry = {
  id: 'exc_1',
  connectionId: 'con_1',
  at: new Date(0),
  method: 'DELETE',
  path: '/',
  status: 400,
  reason: 'request_malformed',
  credentials: [],
  bytesUp: 0,
  bytesDown: 0,
  masked: 0,
  code: null,
  durationMs: 0,
};

test.each([
  ['nothing left', {}, 50],
  ['a secret was put on', { credentials: ['crd_1@1'] }, 60],
  ['bytes of the body left', { bytesUp: 1 }, 60],
])('of 60 refused in a second where %s, %# rows', (_name, more, rows) => {
  const written: ExchangeEntry[] = [];
  const counter = { inc: () => {} };
  const recorder = new Recorder({
    exchanges: { add: (entry: ExchangeEntry) => written.push(entry) },
    counts: { add: () => {} },
    metrics: { exchanges: counter, refusals: counter, masked: counter },
    logger: { info: () => {}, debug: () => {}, warn: () => {} },
    now: () => new Date(0),
  } as unknown as RecorderOptions);
  const connection = { source: '127.0.0.1', environmentId: 'env_1' } as Connection;
  for (let i = 0; i < 60; i += 1) recorder.exchange(connection, { ...ENTRY, ...more });
  expect(written.length).toBe(rows);
});
