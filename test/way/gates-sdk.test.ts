/**
 * The official SDKs against the real gates, as a workload uses them: a base URL and a key, nothing else. They are
 * development dependencies; only where they are not installed this is skipped.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { putModel, startTestGates, type TestGates, type TestRun } from '../support/gates.ts';
import { type Asked, type Provider, startProvider } from '../support/provider.ts';

const OpenAI = await import('openai').then(
  (module) => module.OpenAI,
  () => null,
);
const Anthropic = await import('@anthropic-ai/sdk').then(
  (module) => module.Anthropic,
  () => null,
);

const KEY = 'sk-canary-sdk-31c0';
let provider: Provider;
let gates: TestGates;
let run: TestRun;
let base: string;

beforeAll(async () => {
  provider = await startProvider('provider.test');
  gates = await startTestGates([provider]);
  await putModel(gates, 'scripted', provider, { key: KEY });
  run = await gates.run();
  base = `http://127.0.0.1:${gates.gates.address.port}`;
  provider.behave = (asked, response, socket) => {
    const given = asked.headers.authorization === `Bearer ${KEY}` || asked.headers['x-api-key'] === KEY;
    response.writeHead(given ? 200 : 401, {
      'content-type': isStream(asked) ? 'text/event-stream' : 'application/json',
    });
    const answer = given ? script(asked) : '{}';
    if (asked.body.includes('DIE'))
      response.write(answer.slice(0, answer.indexOf('\n\n') + 20), () =>
        setImmediate(() => socket.destroy()),
      );
    else response.end(answer);
  };
});
afterAll(async () => {
  await gates?.close();
  await provider?.close();
});

const messages = [{ role: 'user' as const, content: 'say héllo 漢字' }];

describe.skipIf(!OpenAI)('openai', () => {
  const client = (token = run.token) => {
    if (!OpenAI) throw new Error('not installed');
    return new OpenAI({ baseURL: `${base}/v1`, apiKey: token });
  };

  for (const model of ['fixture/echo', 'scripted']) {
    it(`completes a chat and a stream: ${model}`, async () => {
      const whole = await client().chat.completions.create({ model, messages });
      expect(whole.choices[0]?.message.content).toBe('say héllo 漢字');
      const stream = await client().chat.completions.create({ model, messages, stream: true });
      let said = '';
      for await (const chunk of stream) said += chunk.choices[0]?.delta.content ?? '';
      expect(said).toBe('say héllo 漢字');
    });
  }

  it('lists the models', async () => {
    const names: string[] = [];
    for await (const model of client().models.list()) names.push(model.id);
    expect(names).toEqual(['fixture/echo', 'fixture/tools', 'fixture/slow', 'scripted']);
  });

  it('sends a call of a run that is over once', async () => {
    const mine = await gates.run();
    await gates.world.call('POST', `/v1/turns/${mine.turn}/cancel`);
    const asked = client(mine.token).chat.completions.create({ model: 'fixture/echo', messages });
    await expect(asked).rejects.toMatchObject({ status: 409, code: 'run_stale' });
    expect(await refusals('run_stale')).toBe(1);
  });

  it('throws where the provider dies in a stream', async () => {
    const stream = await client().chat.completions.create({
      model: 'scripted',
      messages: [{ role: 'user', content: 'DIE' }],
      stream: true,
    });
    await expect(drain(stream)).rejects.toThrow();
  });
});

describe.skipIf(!Anthropic)('@anthropic-ai/sdk', () => {
  const client = (token = run.token) => {
    if (!Anthropic) throw new Error('not installed');
    return new Anthropic({ baseURL: base, apiKey: token });
  };

  for (const model of ['fixture/echo', 'scripted']) {
    it(`completes a message and a stream: ${model}`, async () => {
      const whole = await client().messages.create({ model, max_tokens: 10, messages });
      expect(whole.content).toMatchObject([{ type: 'text', text: 'say héllo 漢字' }]);
      const stream = client().messages.stream({ model, max_tokens: 10, messages });
      expect(await stream.finalText()).toBe('say héllo 漢字');
    });
  }

  it('lists the models', async () => {
    const names: string[] = [];
    for await (const model of client().models.list()) names.push(model.id);
    expect(names).toEqual(['fixture/echo', 'fixture/tools', 'fixture/slow', 'scripted']);
  });

  it('sends a call of a run that is over once', async () => {
    const before = await refusals('run_stale');
    const mine = await gates.run();
    await gates.world.call('POST', `/v1/turns/${mine.turn}/cancel`);
    const asked = client(mine.token).messages.create({ model: 'fixture/echo', max_tokens: 10, messages });
    await expect(asked).rejects.toMatchObject({ status: 409 });
    expect(await refusals('run_stale')).toBe(before + 1);
  });

  it('throws where the provider dies in a stream', async () => {
    const stream = await client().messages.create({
      model: 'scripted',
      max_tokens: 10,
      messages: [{ role: 'user', content: 'DIE' }],
      stream: true,
    });
    await expect(drain(stream)).rejects.toThrow();
  });
});

describe('the ledger of all that', () => {
  it('has the tokens, the echo’s too, and the key is nowhere', async () => {
    // One whole call and one stream of each model and SDK, and a stream that died of each SDK.
    await gates.usage(run, 10);
    const sums = await gates.world.call<{ group: string; inputTokens: number; outputTokens: number }[]>(
      'GET',
      '/v1/usage?by=model',
    );
    for (const model of ['fixture/echo', 'scripted']) {
      expect(sums.find(({ group }) => group === model)).toMatchObject({ outputTokens: expect.any(Number) });
    }
    expect(sums.every(({ inputTokens, outputTokens }) => inputTokens > 0 && outputTokens > 0)).toBe(true);
    expect(gates.world.logged()).not.toContain(KEY);
  });
});

async function drain(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _event of stream);
}

/** How many calls were refused so. */
async function refusals(reason: string): Promise<number> {
  const lines = gates.world
    .logged()
    .split('\n')
    .filter((line) => line.includes('"msg":"refused"'));
  return lines.filter((line) => line.includes(`"reason":"${reason}"`)).length;
}

function isStream(asked: Asked): boolean {
  return JSON.parse(asked.body.toString()).stream === true;
}

/** A provider's answers, in the smallest form that the SDKs take. */
function script(asked: Asked): string {
  const {
    messages: [last],
  } = JSON.parse(asked.body.toString()) as { messages: { content: string }[] };
  const text = last?.content ?? '';
  const openai = asked.path.endsWith('/chat/completions');
  if (!isStream(asked)) {
    return JSON.stringify(
      openai
        ? {
            id: 'c',
            object: 'chat.completion',
            choices: [{ index: 0, message: { role: 'assistant', content: text } }],
            usage: { prompt_tokens: 5, completion_tokens: 7 },
          }
        : {
            id: 'm',
            type: 'message',
            role: 'assistant',
            content: [{ type: 'text', text }],
            usage: { input_tokens: 5, output_tokens: 7 },
          },
    );
  }
  const events = openai
    ? [
        { id: 'c', choices: [{ index: 0, delta: { role: 'assistant', content: text } }] },
        { id: 'c', choices: [], usage: { prompt_tokens: 5, completion_tokens: 7 } },
      ]
    : [
        {
          type: 'message_start',
          message: {
            id: 'm',
            type: 'message',
            role: 'assistant',
            content: [],
            usage: { input_tokens: 5, output_tokens: 1 },
          },
        },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 7 } },
        { type: 'message_stop' },
      ];
  const lines = events.map(
    (event) => `${'type' in event ? `event: ${event.type}\n` : ''}data: ${JSON.stringify(event)}\n\n`,
  );
  return lines.join('') + (openai ? 'data: [DONE]\n\n' : '');
}
