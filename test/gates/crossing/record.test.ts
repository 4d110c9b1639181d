/** What is said of a crossing: one line and two counts, and nothing of its key, its request or its answer. */
import { Writable } from 'node:stream';
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { openLog } from '../../../core-lite/log.ts';
import { bareOutcome, type Outcome } from '../../../core-lite/record/crossing.ts';
import { VerifiedToken } from '../../../core-lite/tokens/verify.ts';
import type { Conclusion } from '../../../gates/crossing/conclude.ts';
import { CrossingRecord } from '../../../gates/crossing/record.ts';
import type { CrossingEnding } from '../../../gates/crossing/waiting.ts';

const CLAIMS = { sub: 'ses_1', trn: 'trn_1', agt: 'ann', epc: 1 };
const TOKEN = new VerifiedToken('run', CLAIMS, 'tok_1', 'kid', 0);
const REQUEST = {
  key: 'key-canary',
  kind: 'mcp',
  server: 'files',
  tool: 'read',
  credentialId: 'crd_1',
  request: Buffer.from('request-canary'),
} as const;
const DONE: Outcome = { status: 'completed', code: null, body: '"answer-canary"' };
const CANCELLED = bareOutcome('cancelled', 'tool.cancelled');

it.each<[name: string, conclusion: Conclusion, ending: CrossingEnding, said: object]>([
  ['completed', { settle: DONE }, DONE, { status: 'completed', code: null, bytes: 15 }],
  ['cancelled', { settle: DONE }, CANCELLED, { status: 'cancelled', code: 'tool.cancelled' }],
  ['given back', { release: 'x.y', answer: DONE }, DONE, { status: 'failed', code: 'x.y', bytes: null }],
  ['not kept', { settle: CANCELLED }, 'again', { status: 'unkept', code: 'tool.cancelled', bytes: null }],
])('%s', async (_, conclusion, ending, said) => {
  let text = '';
  const stream = new Writable({
    write(chunk, _encoding, done) {
      text += chunk;
      done();
    },
  });
  const registry = new Registry();
  const record = new CrossingRecord(registry, openLog('gates', 'info', stream));
  record.keyedCall('ran');
  record.crossing(TOKEN, REQUEST, { id: 'crs_1', attempt: 2 }, { conclusion, ending, sentAt: null });
  const line: unknown = JSON.parse(text);
  const who = { session: 'ses_1', turn: 'trn_1', agent: 'ann', id: 'crs_1', attempt: 2, ms: null };
  const what = { kind: 'mcp', server: 'files', tool: 'read', credential: 'crd_1' };
  expect(line).toMatchObject({ msg: 'crossing', ...who, ...what, ...said });
  const { status } = said as { readonly status: string };
  const metrics = await registry.metrics();
  expect(metrics).toContain(`sallyport_gates_crossings_total{kind="mcp",status="${status}"} 1`);
  expect(metrics).toContain('sallyport_gates_keyed_calls_total{answer="ran"} 1');
  expect(text + metrics).not.toContain('canary');
});
