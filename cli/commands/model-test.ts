/** `model test`: one small call of a model on the very way that agents take: a session, a run token, the gates. */
import { readConfig } from '../../core-lite/config.ts';
import { formatAddress } from '../../core-lite/service.ts';
import { type Api, openApi, path } from '../api.ts';
import { defineCommand, type Io } from '../command.ts';
import { CommandError, EXIT } from '../command-error.ts';
import { findGates } from '../home.ts';
import { formatDuration } from '../table.ts';
import type { ModelAnswer } from './model.ts';

export const modelTest = defineCommand({
  name: 'model test',
  summary: 'calls a model once through the gates and says how that went',
  args: ['NAME'],
  options: {
    dialect: {
      type: 'string',
      value: 'DIALECT',
      choices: ['openai', 'anthropic'],
      help: 'its first one if left out',
    },
    gates: {
      type: 'string',
      value: 'URL',
      help: 'where the gates are; found as `run` finds them if left out',
    },
    text: { type: 'string', value: 'TEXT', help: 'what it is asked' },
  },
  notes: [
    'The provider is really called and may charge for it. The call stands in the ledger as agent model-test.',
  ],
  examples: ['npx sallyport model test fixture/echo'],
  run: async ({ args: [name], options }, io) => {
    const api = await openApi(io);
    const model = await api.call<ModelAnswer>('GET', path`/v1/models/${name}`);
    const dialect = options.dialect ?? model.dialects[0] ?? 'openai';
    const started = await findGates(readConfig(io.variables), io.variables);
    const gates = options.gates ?? `http://${formatAddress(started)}`;
    const text = options.text ?? 'Answer with one word.';
    await inRun(api, async (token) => report(await ask({ gates, name, dialect, text, token }, io), io));
    return EXIT.done;
  },
});

interface Asked {
  readonly gates: string;
  readonly name: string;
  readonly dialect: string;
  readonly text: string;
  readonly token: string;
}

interface Answered {
  readonly status: number;
  readonly body: string;
  readonly ms: number;
}

/** Runs `work` with the token of a run of its own, which is over when this resolves. */
async function inRun(api: Api, work: (token: string) => Promise<void>): Promise<void> {
  const session = await api.call<{ id: string }>('POST', '/v1/sessions', { agent: 'model-test' });
  try {
    const turn = await api.call<{ id: string }>('POST', path`/v1/sessions/${session.id}/turns`);
    const lease = await api.call<{ runToken: string }>('POST', path`/v1/turns/${turn.id}/lease`, {
      holder: 'sallyport model test',
    });
    await work(lease.runToken);
  } finally {
    await api.call('POST', path`/v1/sessions/${session.id}/end`);
  }
}

async function ask({ gates, name, dialect, text, token }: Asked, io: Io): Promise<Answered> {
  const route = dialect === 'anthropic' ? '/v1/messages' : '/v1/chat/completions';
  const more = dialect === 'anthropic' ? { max_tokens: 64 } : {};
  const began = performance.now();
  const answer = await fetch(gates.replace(/\/+$/, '') + route, {
    method: 'POST',
    redirect: 'error',
    signal: io.signal,
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      ...(dialect === 'anthropic' ? { 'anthropic-version': '2023-06-01' } : {}),
    },
    body: JSON.stringify({ model: name, ...more, messages: [{ role: 'user', content: text }] }),
  }).catch(() => null);
  if (!answer)
    throw new CommandError(`the gates cannot be reached at ${gates}`, 'start them, or give --gates');
  return { status: answer.status, body: await answer.text(), ms: Math.round(performance.now() - began) };
}

async function report({ status, body, ms }: Answered, io: Io): Promise<void> {
  if (status >= 400)
    throw new CommandError(`${status} after ${formatDuration(ms)}: ${readError(body)}`, null);
  io.out(`${status} after ${formatDuration(ms)}: ${readText(body)}`);
}

function readError(body: string): string {
  try {
    const { error } = JSON.parse(body) as { error?: { message?: unknown } };
    if (typeof error?.message === 'string') return error.message;
  } catch {
    // A provider may answer anything.
  }
  return body.slice(0, MAX_SHOWN);
}

/** What the model said, in either dialect. */
function readText(body: string): string {
  try {
    const answer = JSON.parse(body) as {
      readonly choices?: readonly { readonly message?: { readonly content?: unknown } }[];
      readonly content?: readonly { readonly text?: unknown }[];
    };
    const said = answer.choices?.[0]?.message?.content ?? answer.content?.[0]?.text;
    if (typeof said === 'string') return said;
  } catch {
    // A provider may answer anything.
  }
  return body.slice(0, MAX_SHOWN);
}

const MAX_SHOWN = 500;
