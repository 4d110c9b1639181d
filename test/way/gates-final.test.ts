/** A final refusal costs one request: the official SDKs against the real gates, every request counted. */

import { createOpenAI } from '@ai-sdk/openai';
import { Anthropic } from '@anthropic-ai/sdk';
import { generateText } from 'ai';
import { OpenAI } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RefusalReason } from '../../gates/reasons.ts';
import { runClaudeCode } from '../support/claude-code.ts';
import { putModel, startTestGates, type TestGates } from '../support/gates.ts';
import { type Provider, startProvider } from '../support/provider.ts';

let provider: Provider;
let untrusted: Provider;
let gates: TestGates;
let base: string;
const tokens: Record<string, string> = {};

beforeAll(async () => {
  provider = await startProvider('provider.test');
  untrusted = await startProvider('untrusted.test');
  gates = await startTestGates([provider, { ...untrusted, caPem: null }]);
  await putModel(gates, 'embeds', provider, { dialects: ['embeddings'] });
  await putModel(gates, 'untrusted', untrusted, { dialects: ['openai', 'responses', 'anthropic', 'gemini'] });
  await putModel(gates, 'redirects', provider, { dialects: ['openai', 'responses', 'anthropic', 'gemini'] });
  provider.behave = (_asked, response) => void response.writeHead(302, { location: '/' }).end();
  const over = await gates.run();
  await gates.world.call('POST', `/v1/turns/${over.turn}/cancel`);
  tokens['over'] = over.token;
  tokens['fresh'] = (await gates.run()).token;
  base = `http://127.0.0.1:${gates.gates.address.port}`;
}, 60_000);
afterAll(async () => {
  await gates?.close();
  await provider?.close();
  await untrusted?.close();
});

interface Asking {
  readonly apiKey: string;
  readonly model: string;
  readonly fetch: typeof globalThis.fetch;
}

const CLIENTS: Readonly<Record<string, (asking: Asking) => Promise<unknown>>> = {
  'openai, chat': ({ model, ...more }) =>
    new OpenAI({ baseURL: `${base}/v1`, ...more }).chat.completions.create({
      model,
      messages: [{ role: 'user', content: 'x' }],
    }),
  'openai, responses as a stream': ({ model, ...more }) =>
    new OpenAI({ baseURL: `${base}/v1`, ...more }).responses.create({ model, input: 'x', stream: true }),
  '@anthropic-ai/sdk': ({ model, ...more }) =>
    new Anthropic({ baseURL: base, ...more }).messages.create({
      model,
      max_tokens: 5,
      messages: [{ role: 'user', content: 'x' }],
    }),
  ai: ({ model, ...more }) =>
    generateText({ model: createOpenAI({ baseURL: `${base}/v1`, ...more })(model), prompt: 'x' }),
};
const CASES: readonly (readonly [reason: RefusalReason, token: string, model: string])[] = [
  ['run_stale', 'over', 'embeds'],
  ['token_malformed', 'none', 'embeds'],
  ['model_unknown', 'fresh', 'nobody'],
  ['dialect_unserved', 'fresh', 'embeds'],
  ['provider_certificate', 'fresh', 'untrusted'],
  ['redirect_refused', 'fresh', 'redirects'],
];

/** How often the gates said it. */
function countSaid(reason: RefusalReason): number {
  return gates.world.logged().split(`"${reason}"`).length - 1;
}

describe('a final refusal', () => {
  for (const [reason, token, model] of [
    ['run_stale', 'over', 'embeds'],
    ['model_unknown', 'fresh', 'claude-nobody'],
  ] as const) {
    it(`is asked for once: ${reason}, Claude Code`, { timeout: 90_000 }, async () => {
      const before = countSaid(reason);
      const { said } = await runClaudeCode({ base, token: tokens[token] ?? '', model, prompt: 'x' });
      expect([said, countSaid(reason) - before]).toEqual([
        expect.stringContaining(model === 'embeds' ? 'the run is over' : 'model'),
        1,
      ]);
    });
  }

  for (const [name, ask] of Object.entries(CLIENTS)) {
    for (const [reason, token, model] of CASES) {
      it(`is asked for once: ${reason}, ${name}`, async () => {
        const answers: Response[] = [];
        const counted: typeof globalThis.fetch = async (input, init) => {
          const answer = await fetch(input, init);
          answers.push(answer.clone());
          return answer;
        };
        const apiKey = tokens[token] ?? 'a word';
        await expect(ask({ apiKey, model, fetch: counted })).rejects.toThrow();
        expect(answers.map(({ headers }) => headers.get('sallyport-reason'))).toEqual([reason]);
        expect(await answers[0]?.text()).toContain(reason);
      });
    }
  }
});
