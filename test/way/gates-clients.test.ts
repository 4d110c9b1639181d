/**
 * Real clients through the gates to a provider that speaks every dialect: what a workload does with each, by a base URL
 * and a token alone. They are required: where one is not installed this fails.
 */
import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { DIALECTS } from '../../core-lite/state/dialect.ts';
import { runClaudeCode } from '../support/claude-code.ts';
import { putModel, startTestGates, type TestGates, type TestRun } from '../support/gates.ts';
import { type Provider, startProvider } from '../support/provider.ts';
import type { Asking } from '../support/sdk-client.ts';
import { SDK_CLIENTS } from '../support/sdk-clients.ts';
import { SPEAKING, speakBehind } from '../support/speaking-provider.ts';

const KEY = 'sk-canary-clients-90af';
const PROMPT = 'say héllo 漢字 🎉 twice';
let provider: Provider;
let gates: TestGates;
let run: TestRun;
let base: string;

beforeAll(async () => {
  provider = await startProvider('provider.test');
  provider.behave = speakBehind(KEY);
  gates = await startTestGates([provider]);
  for (const name of Object.values(SPEAKING))
    await putModel(gates, name, provider, { key: KEY, dialects: DIALECTS });
  await gates.world.call('PUT', '/v1/budgets/one-call', {
    scope: 'agent',
    value: 'poor',
    measure: 'requests',
    limit: 1,
    period: 'lifetime',
  });
  base = `http://127.0.0.1:${gates.gates.address.port}`;
}, 60_000);
beforeEach(async () => {
  run = await gates.run();
  provider.asked.length = 0;
});
afterEach(() => {
  expect(gates.world.logged()).not.toContain(KEY);
  const seen = JSON.stringify(provider.asked.map(({ path, rawHeaders }) => [path, rawHeaders]));
  expect(seen).not.toContain(run.token);
});
afterAll(async () => {
  await gates?.close();
  await provider?.close();
});

function asking(model: string, more: Partial<Asking> = {}): Asking {
  return { base, token: run.token, model, prompt: PROMPT, ...more };
}

async function drain(stream: AsyncIterable<string>): Promise<string> {
  let said = '';
  for await (const text of stream) said += text;
  return said;
}

/** How many calls the gates have told of since, let through or not. */
function countCalls(): number {
  return gates.world.logged().split(/"msg":"(?:model call|refused)"/).length - 1;
}

/** Resolves to the ledger's only row of the run. */
async function onlyRow() {
  const rows = await gates.usage(run, 1);
  expect(rows.length).toBe(1);
  return rows[0];
}

for (const client of SDK_CLIENTS) {
  describe(client.name, () => {
    for (const model of [SPEAKING.echo, 'fixture/echo']) {
      it(`chats and streams: ${model}`, async () => {
        expect(await client.chat(asking(model))).toBe(PROMPT);
        expect(await drain(client.stream(asking(model)))).toBe(PROMPT);
        const rows = await gates.usage(run, 2);
        expect(
          rows.map(({ outcome, streamed, input_tokens, output_tokens }) => [
            outcome,
            streamed,
            input_tokens,
            output_tokens,
          ]),
        ).toEqual([
          ['completed', false, '5', '5'],
          ['completed', true, '5', '5'],
        ]);
        expect(provider.asked.length).toBe(model === 'fixture/echo' ? 0 : 2);
      });
    }

    for (const model of [SPEAKING.tools, 'fixture/tools']) {
      it(`calls a tool and hears of its result: ${model}`, async () => {
        expect(await client.tools(asking(model))).toMatch(/^The tool said: .*sunny in .*city.*text/);
        expect((await gates.usage(run, 2)).map(({ outcome }) => outcome)).toEqual(['completed', 'completed']);
      });
    }

    it('sends an image, which arrives as it was', async () => {
      const base64 = randomBytes(300_000).toString('base64');
      expect(await client.image(asking(SPEAKING.echo), base64)).toBe(PROMPT);
      expect(provider.asked.map(({ body }) => body.includes(base64))).toEqual([true]);
    });

    it('hears what its provider says no to, in the provider’s words', async () => {
      await expect(client.chat(asking(SPEAKING.refuses))).rejects.toThrow(/an odd field/);
      expect(provider.asked.length).toBe(1);
      expect(await onlyRow()).toMatchObject({ outcome: 'provider_error', status: 400 });
    });

    it('asks once for what is refused: a model that its run may not call', async () => {
      run = await gates.run({ models: ['fixture/echo'] });
      for (const ask of [client.chat, (each: Asking) => drain(client.stream(each))]) {
        const before = countCalls();
        await expect(ask(asking(SPEAKING.echo))).rejects.toThrow(/the session may not call this model/);
        expect(countCalls() - before).toBe(1);
      }
      expect(provider.asked).toEqual([]);
    });

    it('asks once where its budget is used up', async () => {
      run = await gates.run(undefined, { agent: 'poor' });
      await client.chat(asking('fixture/echo')).catch(() => {});
      const before = countCalls();
      await expect(client.chat(asking(SPEAKING.echo))).rejects.toThrow(
        /a budget is used up: budget one-call/,
      );
      expect(countCalls() - before).toBe(1);
      expect(provider.asked).toEqual([]);
    });

    it('leaves a stream, and its provider is let go', async () => {
      const leaving = new AbortController();
      const read = async (): Promise<void> => {
        for await (const text of client.stream(asking(SPEAKING.hangs, { signal: leaving.signal })))
          if (text !== '') leaving.abort();
      };
      await read().catch(() => {});
      expect(leaving.signal.aborted).toBe(true);
      expect(await onlyRow()).toMatchObject({ outcome: 'client_left' });
      expect(provider.asked.length).toBe(1);
    });

    it('leaves before an answer, and asks no more', async () => {
      const leaving = new AbortController();
      const speak = provider.behave;
      provider.behave = () => leaving.abort();
      await expect(client.chat(asking(SPEAKING.silent, { signal: leaving.signal }))).rejects.toThrow();
      provider.behave = speak;
      expect(await onlyRow()).toMatchObject({ outcome: 'client_left', status: null });
      expect(provider.asked.length).toBe(1);
    });

    const { embed, list } = client;
    if (list) {
      it('lists the models that its run may call, page by page', async () => {
        run = await gates.run({ models: ['fixture/echo', SPEAKING.echo, SPEAKING.tools] });
        const names = (await list(asking(''))).map((name) => name.replace(/^models\//, ''));
        expect(names).toEqual(['fixture/echo', SPEAKING.echo, SPEAKING.tools]);
      });
    }

    if (embed) {
      it('embeds', async () => {
        const vector = await embed(asking(SPEAKING.echo));
        expect([vector.length, Math.hypot(...vector)]).toEqual([8, expect.closeTo(1, 5)]);
        expect(vector).toEqual(await embed(asking('fixture/echo')));
      });
    }
  });
}

describe('Claude Code', () => {
  for (const model of [SPEAKING.echo, 'fixture/echo']) {
    it(`runs a turn: ${model}`, { timeout: 90_000 }, async () => {
      const { said, status } = await runClaudeCode({ base, token: run.token, model, prompt: PROMPT });
      expect([status, said]).toEqual([0, expect.stringContaining(PROMPT)]);
      const rows = await gates.usage(run, 1);
      expect(rows.every(({ outcome, dialect }) => outcome === 'completed' && dialect === 'anthropic')).toBe(
        true,
      );
    });
  }

  it('ends at once where it is refused', { timeout: 90_000 }, async () => {
    run = await gates.run({ models: ['fixture/tools'] });
    const before = countCalls();
    const { said } = await runClaudeCode({ base, token: run.token, model: SPEAKING.echo, prompt: PROMPT });
    expect(said).toContain('the session may not call this model');
    expect(countCalls() - before).toBe(1);
  });
});
