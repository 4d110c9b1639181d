/** `model test`: one small call of a model in each dialect, on the very way that agents take: a session, a run token, the gates. */
import { setTimeout as wait } from 'node:timers/promises';
import { readConfig } from '../../core-lite/config.ts';
import { formatAddress } from '../../core-lite/service.ts';
import { DIALECTS, type Dialect } from '../../core-lite/state/dialect.ts';
import { type Api, openApi, path, query } from '../api.ts';
import { defineCommand, type Io } from '../command.ts';
import { CommandError, EXIT } from '../command-error.ts';
import { type Json, sample } from '../dialect-samples.ts';
import { findGates } from '../home.ts';
import { formatDuration } from '../table.ts';
import type { ModelAnswer } from './model.ts';

export const modelTest = defineCommand({
  name: 'model test',
  summary: 'calls a model once in each dialect through the gates and says how that went',
  args: ['NAME'],
  options: {
    dialect: {
      type: 'string',
      value: 'DIALECT',
      multiple: true,
      choices: DIALECTS,
      help: 'only in this one; every one that it serves if left out, may be given more than once',
    },
    gates: {
      type: 'string',
      value: 'URL',
      help: 'where the gates are; found as `run` finds them if left out',
    },
    text: { type: 'string', value: 'TEXT', help: 'what it is asked' },
  },
  notes: [
    'The provider is really called and may charge for it. The calls stand in the ledger as agent model-test; what they used is shown as far as it is there at once.',
  ],
  examples: ['npx sallyport model test fixture/echo', 'npx sallyport model test gpt-5 --dialect responses'],
  run: async ({ args: [name], options }, io) => {
    const api = await openApi(io);
    const model = await api.call<ModelAnswer>('GET', path`/v1/models/${name}`);
    const served = DIALECTS.filter((dialect) => model.dialects.includes(dialect));
    const dialects = DIALECTS.filter((dialect) => options.dialect?.includes(dialect));
    const started = await findGates(readConfig(io.variables), io.variables);
    const gates = (options.gates ?? `http://${formatAddress(started)}`).replace(/\/+$/, '');
    const text = options.text ?? 'Answer with one word.';
    let failed = 0;
    for (const dialect of dialects.length > 0 ? dialects : served) {
      const tested = await test({ api, io, gates, name, dialect, text });
      if (!tested.ok) failed += 1;
      (tested.ok ? io.out : io.err)(tested.line);
    }
    return failed > 0 ? EXIT.failed : EXIT.done;
  },
});

interface Asking {
  readonly api: Api;
  readonly io: Io;
  readonly gates: string;
  readonly name: string;
  readonly dialect: Dialect;
  readonly text: string;
}

/** One call in a run of its own, which is over when this resolves. */
async function test(asking: Asking): Promise<{ readonly ok: boolean; readonly line: string }> {
  const { api, dialect } = asking;
  const session = await api.call<{ id: string }>('POST', '/v1/sessions', { agent: 'model-test' });
  try {
    const turn = await api.call<{ id: string }>('POST', path`/v1/sessions/${session.id}/turns`);
    const holder = { holder: 'sallyport model test' };
    const { runToken } = await api.call<{ runToken: string }>(
      'POST',
      path`/v1/turns/${turn.id}/lease`,
      holder,
    );
    const since = new Date(Date.now() - CLOCKS_MS).toISOString();
    const { status, ms, said } = await ask(asking, runToken);
    const line = `${dialect}: ${status} after ${formatDuration(ms)}`;
    if (status >= 400) return { ok: false, line: `${line}: ${said}` };
    return { ok: true, line: `${line}${await readUsed(asking, turn.id, since)}: ${said}` };
  } finally {
    await api.call('POST', path`/v1/sessions/${session.id}/end`);
  }
}

interface Answered {
  readonly status: number;
  readonly ms: number;
  readonly said: string;
}

async function ask({ io, gates, name, dialect, text }: Asking, token: string): Promise<Answered> {
  const { path: route, headers = {}, body, said } = sample(dialect, name, text);
  const began = performance.now();
  const answer = await fetch(gates + route, {
    method: 'POST',
    redirect: 'error',
    signal: io.signal,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  }).catch(() => null);
  if (!answer)
    throw new CommandError(`the gates cannot be reached at ${gates}`, 'start them, or give --gates');
  const read = await answer.text();
  const ms = Math.round(performance.now() - began);
  return { status: answer.status, ms, said: readText(read, answer.ok ? said : readError) };
}

const readError = ({ error }: Json): unknown => error?.['message'];

/** The text that `find` finds in it, or its beginning: a provider may answer anything. */
function readText(body: string, find: (answer: Json) => unknown): string {
  try {
    const found = find(JSON.parse(body));
    if (typeof found === 'string') return found;
  } catch {
    // Not JSON, or not as its dialect has it.
  }
  return body.slice(0, MAX_SHOWN);
}

interface Used {
  readonly group: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUsd?: number | null;
}

/** What the ledger says of the turn; empty where it says nothing in a moment. */
async function readUsed({ api, io }: Asking, turn: string, since: string): Promise<string> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const sums = await api.call<readonly Used[]>('GET', `/v1/usage${query({ by: 'turn', since })}`);
    const used = sums.find(({ group }) => group === turn);
    if (used) {
      const cost = typeof used.costUsd === 'number' ? `, $${Number(used.costUsd.toFixed(6))}` : '';
      return ` (${used.inputTokens} tokens in, ${used.outputTokens} out${cost})`;
    }
    await wait(TRY_EVERY_MS, undefined, { signal: io.signal });
  }
  return '';
}

const MAX_SHOWN = 500;
const MAX_TRIES = 20;
const TRY_EVERY_MS = 50;
/** How far this machine's clock may be ahead of the gates'. */
const CLOCKS_MS = 60_000;
