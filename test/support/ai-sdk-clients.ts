/** Vercel's AI SDK with the providers that speak to the gates, brought to the same tasks as the other SDKs. */
import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogle } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import { embed, generateText, isStepCount, jsonSchema, type LanguageModel, streamText, tool } from 'ai';
import type { Asking, SdkClient } from './sdk-client.ts';

interface Offered {
  readonly name: string;
  readonly description: string;
  readonly parameters: object;
}

export function ai(offered: Offered, run: (input: object) => string): readonly SdkClient[] {
  const tools = {
    [offered.name]: tool({
      description: offered.description,
      inputSchema: jsonSchema<Record<string, unknown>>(offered.parameters),
      execute: async (input) => run(input),
    }),
  };
  return Object.entries(MODELS).map(
    ([name, open]): SdkClient => ({
      name: `ai, ${name}`,
      chat: async (asking) =>
        (await generateText({ model: open(asking), prompt: asking.prompt, ...stopped(asking) })).text,
      stream: async function* (asking) {
        let failure: unknown;
        const onError = ({ error }: { error: unknown }): void => {
          failure = error;
        };
        yield* streamText({ model: open(asking), prompt: asking.prompt, onError, ...stopped(asking) })
          .textStream;
        if (failure) throw failure;
      },
      tools: async (asking) =>
        (await generateText({ model: open(asking), prompt: asking.prompt, tools, stopWhen: isStepCount(3) }))
          .text,
      image: async (asking, base64) => {
        const content = [
          { type: 'text' as const, text: asking.prompt },
          { type: 'file' as const, data: base64, mediaType: 'image/png' },
        ];
        return (await generateText({ model: open(asking), messages: [{ role: 'user', content }] })).text;
      },
      ...(name === 'openai chat' ? { embed: embedText } : {}),
    }),
  );
}

const openai = ({ base, token }: Asking) => createOpenAI({ baseURL: `${base}/v1`, apiKey: token });
const MODELS: Readonly<Record<string, (asking: Asking) => LanguageModel>> = {
  'openai chat': (asking) => openai(asking).chat(asking.model),
  'openai responses': (asking) => openai(asking)(asking.model),
  // With and without a version: one value of ANTHROPIC_BASE_URL serves this and Anthropic's own SDK.
  anthropic: ({ base, token, model }) => createAnthropic({ baseURL: base, apiKey: token })(model),
  google: ({ base, token, model }) =>
    // A name with a slash is a path to this one.
    createGoogle({ baseURL: `${base}/v1beta`, apiKey: token })(
      model.includes('/') ? `models/${model}` : model,
    ),
};

function stopped({ signal }: Asking) {
  return signal ? { abortSignal: signal } : {};
}

async function embedText(asking: Asking): Promise<readonly number[]> {
  const model = openai(asking).embedding(asking.model);
  return (await embed({ model, value: asking.prompt })).embedding;
}
