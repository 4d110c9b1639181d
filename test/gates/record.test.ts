/** What is kept of a call: its row, its log line and what is counted of it. */
import { describe, expect, it } from 'vitest';
import { openLog } from '../../core-lite/log.ts';
import type { Spend } from '../../core-lite/record/call-starts.ts';
import type { TokenCounts, UsageEntry, UsageLedger } from '../../core-lite/record/usage-ledger.ts';
import { Call, type RunToken } from '../../gates/calls.ts';
import { makeMetrics } from '../../gates/metrics.ts';
import { type ModelCallNames, type ModelEnding, NO_TOKENS, Recorder } from '../../gates/record.ts';

const AT = new Date('2026-11-01T12:00:00Z');
const CLAIMS = { sub: 'ses_1', trn: 'trn_1', agt: 'ann' };
const NAMES: ModelCallNames = {
  model: 'fast',
  upstreamName: 'gpt-5',
  provider: 'openai',
  dialect: 'openai',
  streamed: true,
  counts: false,
  clientSession: 's',
  clientAgent: 'a',
  clientParentAgent: null,
};
const TOKENS: TokenCounts = { input: 1_000, output: 100, cached: 800, cacheWrite: null, reasoning: 60 };
const ENDING: ModelEnding = { outcome: 'completed', status: 200, tokens: TOKENS, firstByteMs: 40 };
const COST = (200 * 1.25 + 800 * 0.125 + 100 * 10) / 1e6;

function makeRecorder() {
  const rows: UsageEntry[] = [];
  const lines: Record<string, unknown>[] = [];
  const metrics = makeMetrics(
    () => 0,
    () => true,
  );
  const ledger = { add: (row: UsageEntry) => rows.push(row) } as unknown as UsageLedger;
  const logger = openLog('gates', 'info', { write: (line) => void lines.push(JSON.parse(line)) });
  const recorder = new Recorder({ ledger, metrics, logger, now: () => new Date(AT.getTime() + 250) });
  const call = (reserved: Spend | null = null) =>
    Object.assign(new Call({ claims: CLAIMS } as unknown as RunToken, AT), { reserved, sent: true });
  const counted = async (name: string): Promise<string[]> =>
    (await metrics.registry.metrics())
      .split('\n')
      .filter((line) => line.startsWith(`sallyport_gates_${name}`) && !line.endsWith(' 0'));
  return {
    recorder,
    rows,
    lines,
    counted,
    record: (names = {}, ending = {}, reserved: Spend | null = null) =>
      recorder.modelCall(call(reserved), { ...NAMES, ...names }, { ...ENDING, ...ending }),
  };
}

describe('a model call', () => {
  it('has its names, hints, tokens and cost in its row', () => {
    const { rows, record } = makeRecorder();
    record();
    const { counts: _counts, ...names } = NAMES;
    expect(rows).toEqual([
      {
        ...names,
        ...ENDING,
        id: expect.stringMatching(/^usg_/),
        at: AT,
        sessionId: 'ses_1',
        turnId: 'trn_1',
        agent: 'ann',
        costUsd: COST,
        durationMs: 250,
        duplicate: false,
        charge: 'counted',
      },
    ]);
  });

  it('is one log line', () => {
    const { lines, record } = makeRecorder();
    record();
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({
      model: 'fast',
      provider: 'openai',
      input: 1_000,
      output: 100,
      costUsd: COST,
      ms: 250,
      msg: 'model call',
    });
  });

  it('is counted by tokens, cost and time', async () => {
    const { counted, record } = makeRecorder();
    record();
    expect(await counted('tokens_total')).toEqual([
      'sallyport_gates_tokens_total{provider="openai",direction="input"} 1000',
      'sallyport_gates_tokens_total{provider="openai",direction="output"} 100',
      'sallyport_gates_tokens_total{provider="openai",direction="cached"} 800',
      'sallyport_gates_tokens_total{provider="openai",direction="reasoning"} 60',
    ]);
    expect(await counted('cost_usd_total')).toEqual([
      `sallyport_gates_cost_usd_total{provider="openai"} ${COST}`,
    ]);
    expect(await counted('first_byte_seconds_sum')).toEqual(['sallyport_gates_first_byte_seconds_sum 0.04']);
    expect(await counted('model_call_seconds_sum')).toEqual(['sallyport_gates_model_call_seconds_sum 0.25']);
    expect(await counted('un')).toEqual([]);
  });

  it('that nobody counted has the figures of its row in its log line and its metrics', async () => {
    const { rows, lines, counted, record } = makeRecorder();
    const { model, upstreamName, provider, dialect, streamed } = NAMES;
    const reserved = {
      model,
      upstreamName,
      provider,
      dialect,
      streamed,
      inputTokens: 70,
      outputTokens: 900,
      costUsd: 0.5,
    };
    record({}, { tokens: NO_TOKENS, outcome: 'client_left' }, reserved);
    record({}, { tokens: { ...NO_TOKENS, input: 30 } }, reserved);
    record({}, {}, reserved);
    // The database puts the reserved figures in.
    expect(rows.map(({ charge, costUsd }) => [charge, costUsd])).toEqual([
      ['reserved', null],
      ['reserved', null],
      ['counted', COST],
    ]);
    expect(lines.map(({ input, output, costUsd, presumed }) => [input, output, costUsd, presumed])).toEqual([
      [70, 900, 0.5, true],
      [30, 900, 0.5, true],
      [1_000, 100, COST, false],
    ]);
    expect((await counted('tokens_total')).slice(0, 2)).toEqual([
      'sallyport_gates_tokens_total{provider="openai",direction="input"} 1100',
      'sallyport_gates_tokens_total{provider="openai",direction="output"} 1900',
    ]);
    expect(await counted('cost_usd_total')).toEqual([
      `sallyport_gates_cost_usd_total{provider="openai"} ${1 + COST}`,
    ]);
    expect(await counted('unmetered_calls')).toEqual([
      'sallyport_gates_unmetered_calls_total{provider="openai"} 1',
    ]);
  });

  it('whose price is not known has no cost, and a warning once', async () => {
    const { rows, lines, counted, record } = makeRecorder();
    for (const upstreamName of ['gpt-none', 'gpt-none', 'gpt-nil']) record({ upstreamName });
    expect(rows.map(({ costUsd }) => costUsd)).toEqual([null, null, null]);
    const warned = lines.filter(({ level }) => level === 'warn').map(({ model }) => model);
    expect(warned).toEqual(['gpt-none', 'gpt-nil']);
    expect(await counted('unpriced_calls')).toEqual([
      'sallyport_gates_unpriced_calls_total{provider="openai"} 3',
    ]);
  });

  it('that told no usage is unmetered', async () => {
    const { rows, lines, counted, record } = makeRecorder();
    record({}, { tokens: NO_TOKENS });
    record({}, { tokens: NO_TOKENS, outcome: 'client_left' });
    expect(rows.map(({ costUsd }) => costUsd)).toEqual([null, null]);
    expect(lines.filter(({ level }) => level === 'warn')).toEqual([]);
    expect(await counted('unmetered_calls')).toEqual([
      'sallyport_gates_unmetered_calls_total{provider="openai"} 1',
    ]);
    expect(await counted('unpriced_calls')).toEqual([]);
  });

  it('that only asked for a count costs nothing', async () => {
    const { rows, counted, record } = makeRecorder();
    const counts = { dialect: 'anthropic', provider: 'custom', counts: true, streamed: false };
    record(counts, { tokens: NO_TOKENS });
    record(counts, { tokens: NO_TOKENS, outcome: 'provider_error', status: 500 });
    expect(rows.map(({ tokens, costUsd }) => [tokens.input, tokens.output, costUsd])).toEqual([
      [0, 0, 0],
      [null, null, null],
    ]);
    expect(await counted('un')).toEqual([]);
  });

  it('never makes a label of what stands in a row', async () => {
    const { counted, record } = makeRecorder();
    record({ provider: 'fixture' });
    record({ provider: 'made-up' });
    record({ provider: null });
    const labels = (await counted('tokens_total')).filter((line) => line.includes('"input"'));
    expect(labels.map((line) => /provider="([^"]*)"/.exec(line)?.[1])).toEqual(['fixture', 'other', 'none']);
  });
});

describe('a tool call', () => {
  it('has its names, trace and sizes in its line, and is counted', async () => {
    const { recorder, lines, counted } = makeRecorder();
    const call = new Call({ claims: CLAIMS } as unknown as RunToken, AT);
    call.credentialId = 'crd_1';
    const facts = { trace: 'abc', inputBytes: 12, resultBytes: 34 };
    recorder.toolCall(call, 'look', 'http.lost', facts);
    const names = { session: 'ses_1', turn: 'trn_1', agent: 'ann', tool: 'look', credential: 'crd_1' };
    expect(lines).toMatchObject([{ msg: 'tool call', ...names, outcome: 'http.lost', ...facts, ms: 250 }]);
    expect(await counted('tool_')).toEqual(
      expect.arrayContaining([
        'sallyport_gates_tool_calls_total{outcome="http.lost"} 1',
        'sallyport_gates_tool_call_seconds_sum 0.25',
        'sallyport_gates_tool_result_bytes_total 34',
      ]),
    );
  });
});
