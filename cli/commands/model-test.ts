/** `model test`: one small call of a model in each dialect, on the very way that agents take: a session, a run token, the gates. */
import { setTimeout as wait } from 'node:timers/promises';
import { readConfig } from '../../core-lite/config.ts';
import { formatAddress } from '../../core-lite/service.ts';
import { DIALECTS, type Dialect } from '../../core-lite/state/dialect.ts';
import type { TenantSettings } from '../../core-lite/state/tenant-settings.ts';
import { type Api, openApi, path, query } from '../api.ts';
import { defineCommand, type Io } from '../command.ts';
import { CommandError, EXIT } from '../command-error.ts';
import { type Json, sample } from '../dialect-samples.ts';
import { findGates } from '../home.ts';
import { formatDuration } from '../table.ts';
import type { CallAnswer } from '../usage-row.ts';
import { formatRoundUsd } from '../usd.ts';
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
      help: 'only in this one; every one that it serves if left out',
    },
    gates: {
      type: 'string',
      value: 'URL',
      help: 'where the gates are; found as `run` finds them if left out',
    },
    text: { type: 'string', value: 'TEXT', help: 'what it is asked' },
    json: { type: 'boolean', help: 'prints JSON' },
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
    const { fixtureModel } = await api.call<TenantSettings>('GET', '/v1/tenant/settings');
    const fixture = model.builtIn ? null : fixtureModel;
    if (fixture !== null && !options.json) io.err(`note: ${notCalled(name, fixture)}`);
    const tested: Tested[] = [];
    for (const dialect of dialects.length > 0 ? dialects : served) {
      const one = await test({ api, io, gates, name, dialect, text }, fixture);
      if (!options.json) (one.ok ? io.out : io.err)(describe(one));
      tested.push(one);
    }
    if (options.json) io.out(JSON.stringify(tested, null, 2));
    return tested.every(({ ok }) => ok) ? EXIT.done : EXIT.failed;
  },
});

function notCalled(name: string, fixture: string): string {
  return `${fixture} answers in place of ${name}, whose provider is not called: sallyport tenant set --fixture-model none`;
}

/** How one dialect's call went, as `--json` prints it. */
interface Tested extends Answered {
  readonly model: string;
  readonly dialect: Dialect;
  readonly ok: boolean;
  /** The built-in model that answered in its place. */
  readonly fixtureModel: string | null;
  /** What the ledger says; `null` where it says nothing in a moment. */
  readonly used: Used | null;
}

function describe({ dialect, status, reason, ms, said, used, fixtureModel }: Tested): string {
  const word = reason === null ? '' : ` ${reason}`;
  const by = fixtureModel === null ? '' : ` by ${fixtureModel}`;
  return `${dialect}: ${status}${word} after ${formatDuration(ms)}${by}${used ? ` (${describeUsed(used)})` : ''}: ${said}`;
}

function describeUsed({ inputTokens, outputTokens, costUsd }: Used): string {
  const cost = costUsd === null ? 'no price' : formatRoundUsd(costUsd, 6);
  return `${inputTokens ?? '?'} tokens in, ${outputTokens ?? '?'} out, ${cost}`;
}

interface Asking {
  readonly api: Api;
  readonly io: Io;
  readonly gates: string;
  readonly name: string;
  readonly dialect: Dialect;
  readonly text: string;
}

/** One call in a run of its own, which is over when this resolves. */
async function test(asking: Asking, fixtureModel: string | null): Promise<Tested> {
  const { api, name: model, dialect } = asking;
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
    const answered = await ask(asking, runToken);
    const ok = answered.status < 400;
    const used = ok ? await readUsed(asking, turn.id, since) : null;
    return { model, dialect, ok, ...answered, fixtureModel: ok ? fixtureModel : null, used };
  } finally {
    await api.call('POST', path`/v1/sessions/${session.id}/end`);
  }
}

interface Answered {
  readonly status: number;
  /** Why the gates refused or failed it; `null` where they passed on what came. */
  readonly reason: string | null;
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
  const { status, headers: came } = answer;
  const reason = came.get('sallyport-reason');
  return { status, reason, ms, said: readText(read, answer.ok ? said : readError) };
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

type Used = Pick<CallAnswer, 'inputTokens' | 'outputTokens' | 'costUsd'>;

async function readUsed({ api, io }: Asking, turn: string, since: string): Promise<Used | null> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const [call] = await api.call<readonly CallAnswer[]>('GET', `/v1/usage/calls${query({ turn, since })}`);
    if (call) {
      const { inputTokens, outputTokens, costUsd } = call;
      return { inputTokens, outputTokens, costUsd };
    }
    await wait(TRY_EVERY_MS, undefined, { signal: io.signal });
  }
  return null;
}

const MAX_SHOWN = 500;
const MAX_TRIES = 20;
const TRY_EVERY_MS = 50;
/** How far this machine's clock may be ahead of the gates'. */
const CLOCKS_MS = 60_000;
