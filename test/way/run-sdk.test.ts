/**
 * The official SDKs inside the real `sallyport run`, as people write their programs: no base URL, no key, no option. What
 * they do without being told is what the run's variables made them do.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../core-lite/database/embedded-server.ts';
import { sallyport, settingsOf } from '../cli/sallyport.ts';
import { startGate, type TestGate } from '../support/gate.ts';
import { type Asked, type Behaviour, type Provider, startProvider } from '../support/provider.ts';
import { type Finished, makeRunner, type Runner, type StartedRun } from '../support/run.ts';

const KEY = 'sk-canary-run-sdk-90b2';
const SAID = 'say héllo 漢字';

let folder: string;
let provider: Provider;
let gate: TestGate;
let runner: Runner;
let observePort: number;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sallyport-run-sdk-'));
  provider = await startProvider('provider.test');
  observePort = await freePort();
  await writeFile(join(folder, 'roots.pem'), provider.caPem ?? '');
  gate = await startGate({
    hosts: `127.0.0.1 ${provider.host}`,
    open: `${provider.host}=127.0.0.0/8`,
    settings: {
      SALLYPORT_EXTRA_CA: join(folder, 'roots.pem'),
      SALLYPORT_GATES_OBSERVE_LISTEN: `127.0.0.1:${observePort}`,
    },
  });
  const { world } = gate;
  const hosts = [`${provider.host}:${provider.port}`];
  await world.call('PUT', '/v1/vaults/v');
  await world.call('PUT', '/v1/vaults/v/credentials/key', {
    kind: 'model_key',
    hosts,
    secret: { value: KEY },
  });
  await world.call('PUT', '/v1/models/scripted', {
    baseUrl: `https://${provider.host}:${provider.port}`,
    dialects: ['openai', 'anthropic'],
    credential: 'v/key',
  });
  await gate.put('dev', { allow: hosts });
  provider.behave = answerCall;
  runner = await makeRunner(world, gate.egress, await world.gates());
});
afterAll(async () => {
  await runner?.close();
  await gate?.close();
  await provider?.close();
  await rm(folder, { recursive: true, force: true });
});

/** The program is given the model, and an address outside that never ends its answer. */
function node(program: string, model: string, where = ['--env', 'dev']): StartedRun {
  const outside = `https://${provider.host}:${provider.port}/never`;
  const words = [process.execPath, '--input-type=module', '-e', program, '--', model, outside];
  return runner.start([...where, '--', ...words]);
}

const OPENAI_COMPLETES = `
  import OpenAI from 'openai';
  const { completions } = new OpenAI().chat;
  const ask = { model: process.argv[1], messages: [{ role: 'user', content: '${SAID}' }] };
  const whole = await completions.create(ask);
  console.log(whole.choices[0].message.content);
  for await (const chunk of await completions.create({ ...ask, stream: true }))
    process.stdout.write(chunk.choices[0]?.delta.content ?? '');`;
const ANTHROPIC_COMPLETES = `
  import Anthropic from '@anthropic-ai/sdk';
  const { messages } = new Anthropic();
  const ask = { model: process.argv[1], max_tokens: 10, messages: [{ role: 'user', content: '${SAID}' }] };
  const whole = await messages.create(ask);
  console.log(whole.content[0].text);
  process.stdout.write(await messages.stream(ask).finalText());`;
const GOOGLE_COMPLETES = `
  import { GoogleGenAI } from '@google/genai';
  const { models } = new GoogleGenAI({});
  const ask = { model: process.argv[1], contents: '${SAID}' };
  console.log((await models.generateContent(ask)).text);
  for await (const { text } of await models.generateContentStream(ask)) process.stdout.write(text);`;
/** Holds a stream and a connection outside open, says when each has closed, and asks once more. */
const OPENAI_IS_CANCELLED = `
  import OpenAI from 'openai';
  const { completions } = new OpenAI().chat;
  const ask = { model: process.argv[1], messages: [{ role: 'user', content: 'HOLD' }] };
  const drain = async (body) => { for await (const _ of body); };
  const held = [await completions.create({ ...ask, stream: true }), (await fetch(process.argv[2])).body];
  console.log('open');
  await Promise.allSettled(held.map((each) => drain(each).catch(() => {}).then(() => console.log('closed'))));
  await completions.create(ask).catch(({ status, code }) => console.log(status, code));`;
const ANTHROPIC_IS_CANCELLED = `
  import Anthropic from '@anthropic-ai/sdk';
  const { messages } = new Anthropic();
  const ask = { model: process.argv[1], max_tokens: 10, messages: [{ role: 'user', content: 'HOLD' }] };
  const drain = async (body) => { for await (const _ of body); };
  const held = [await messages.create({ ...ask, stream: true }), (await fetch(process.argv[2])).body];
  console.log('open');
  await Promise.allSettled(held.map((each) => drain(each).catch(() => {}).then(() => console.log('closed'))));
  await messages.create(ask).catch(({ status, error }) => console.log(status, error.error.code));`;

describe.each([
  ['openai', OPENAI_COMPLETES, OPENAI_IS_CANCELLED],
  ['@anthropic-ai/sdk', ANTHROPIC_COMPLETES, ANTHROPIC_IS_CANCELLED],
])('%s', (_name, completes, isCancelled) => {
  it.each(['fixture/echo', 'scripted'])('completes a chat and a stream: %s', async (model) => {
    provider.asked.length = 0;
    const before = await sumOf(model);
    const { status, out, err } = await node(completes, model).ended;
    expect([status, out, problems(err)]).toEqual([0, `${SAID}\n${SAID}`, '']);
    // What checks the key is the provider: it answers 401 to any other.
    expect(provider.asked).toHaveLength(model === 'scripted' ? 2 : 0);
    await expect.poll(async () => (await sumOf(model)).calls).toBe(before.calls + 2);
    const after = await sumOf(model);
    expect(after.inputTokens).toBeGreaterThan(before.inputTokens);
    expect(after.outputTokens).toBeGreaterThan(before.outputTokens);
    if (model === 'scripted')
      expect([after.inputTokens, after.outputTokens]).toEqual([
        before.inputTokens + 2 * USED.input,
        before.outputTokens + 2 * USED.output,
      ]);
  });

  it('cancelled: what is open closes within a second, and the next call is refused after one request', async () => {
    const { world } = gate;
    const session = await world.call<Made>('POST', '/v1/sessions', { agent: 'own', environment: 'dev' });
    const turn = await world.call<Made>('POST', `/v1/sessions/${session.id}/turns`);
    const run = node(isCancelled, 'scripted', ['--turn', turn.id]);
    await run.said(/open/);
    const before = await refusals();
    const started = performance.now();
    await world.call('POST', `/v1/turns/${turn.id}/cancel`);
    await run.said(/closed\nclosed\n/);
    expect(performance.now() - started).toBeLessThan(1_000);
    const { status, out } = await run.ended;
    expect([status, out]).toEqual([0, 'open\nclosed\nclosed\n409 run_stale\n']);
    const after = await refusals();
    expect([after.stale - before.stale, after.all - before.all]).toEqual([1, 1]);
    await expect.poll(() => provider.open).toBe(0);
  });
});

it('@google/genai: completes a chat and a stream', async () => {
  const { status, out, err } = await node(GOOGLE_COMPLETES, 'fixture/echo').ended;
  expect([status, out, problems(err)]).toEqual([0, `${SAID}\n${SAID}`, '']);
});

interface Made {
  readonly id: string;
}

interface Sum {
  readonly group: string;
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** What `sallyport usage` says of a model. */
async function sumOf(model: string): Promise<Sum> {
  const typed = await sallyport(['usage', '--by', 'model', '--json'], { variables: settingsOf(gate.world) });
  const none = { group: model, calls: 0, inputTokens: 0, outputTokens: 0 };
  return typed.json<Sum[]>().find(({ group }) => group === model) ?? none;
}

/** How many requests the gates refused. */
async function refusals(): Promise<{ readonly stale: number; readonly all: number }> {
  const text = await (await fetch(`http://127.0.0.1:${observePort}/metrics`)).text();
  const found = [...text.matchAll(/^sallyport_gates_refusals_total\{reason="(\w+)"\} (\d+)$/gm)];
  const counts = found.map(([, reason, count]) => ({ reason, count: Number(count) }));
  const sum = (of: typeof counts): number => of.reduce((all, { count }) => all + count, 0);
  return { stale: sum(counts.filter(({ reason }) => reason === 'run_stale')), all: sum(counts) };
}

/** What was printed besides the run's own line. */
function problems(err: Finished['err']): string {
  return err.replace(/^sallyport: .*\n/, '');
}

const answerCall: Behaviour = (asked, response) => {
  if (asked.path === '/never') {
    response.write('one');
    return;
  }
  const { authorization, 'x-api-key': apiKey } = asked.headers;
  const openai = asked.path.endsWith('/chat/completions');
  if ((openai ? authorization : apiKey) !== (openai ? `Bearer ${KEY}` : KEY)) {
    response.writeHead(401, { 'content-type': 'application/json' }).end('{}');
    return;
  }
  const { stream, messages } = readAsk(asked);
  const said = messages[0]?.content ?? '';
  if (!stream) {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(openai ? openaiWhole(said) : anthropicWhole(said)));
    return;
  }
  response.setHeader('content-type', 'text/event-stream');
  const events = openai ? openaiEvents(said) : anthropicEvents(said);
  if (said === 'HOLD') response.write(events.slice(0, events.indexOf('\n\n') + 2));
  else response.end(events);
};

function readAsk({ body }: Asked): { readonly stream?: boolean; readonly messages: { content: string }[] } {
  return JSON.parse(body.toString());
}

const USED = { input: 5, output: 7 };
const OPENAI_USAGE = { prompt_tokens: USED.input, completion_tokens: USED.output };
const ANTHROPIC_USAGE = { input_tokens: USED.input, output_tokens: USED.output };

function openaiWhole(content: string): object {
  const choices = [{ index: 0, message: { role: 'assistant', content } }];
  return { id: 'c', object: 'chat.completion', choices, usage: OPENAI_USAGE };
}

function anthropicWhole(text: string): object {
  return {
    id: 'm',
    type: 'message',
    role: 'assistant',
    content: [{ type: 'text', text }],
    usage: ANTHROPIC_USAGE,
  };
}

function openaiEvents(content: string): string {
  const events = [
    { id: 'c', choices: [{ index: 0, delta: { role: 'assistant', content } }] },
    { id: 'c', choices: [], usage: OPENAI_USAGE },
  ];
  return `${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')}data: [DONE]\n\n`;
}

function anthropicEvents(text: string): string {
  const message = { id: 'm', type: 'message', role: 'assistant', content: [] };
  const events = [
    { type: 'message_start', message: { ...message, usage: { ...ANTHROPIC_USAGE, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: USED.output } },
    { type: 'message_stop' },
  ];
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
}
