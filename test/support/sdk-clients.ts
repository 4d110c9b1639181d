/** The SDKs as a workload uses them, a base URL and a key and nothing else, each brought to the same few tasks. */
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI, Type } from '@google/genai';
import OpenAI from 'openai';
import { ai } from './ai-sdk-clients.ts';
import type { Asking, SdkClient } from './sdk-client.ts';

/** What every client offers, and what it gives back. */
const TOOL = {
  name: 'weather',
  description: 'tells the weather',
  parameters: {
    type: 'object' as const,
    properties: { city: { type: 'string' as const } },
    required: ['city'],
  },
};
const runTool = (input: object): string => `sunny in ${JSON.stringify(input)}`;
const readInput = (text: string): object => JSON.parse(text);

const openai = ({ base, token }: Asking): OpenAI => new OpenAI({ baseURL: `${base}/v1`, apiKey: token });
const anthropic = ({ base, token }: Asking): Anthropic => new Anthropic({ baseURL: base, apiKey: token });
const google = ({ base, token }: Asking): GoogleGenAI =>
  new GoogleGenAI({ apiKey: token, httpOptions: { baseUrl: base } });
const user = (prompt: string) => [{ role: 'user' as const, content: prompt }];

const CHAT: SdkClient = {
  name: 'openai, chat',
  chat: async (asking) => {
    const { model, prompt, signal } = asking;
    const answer = await openai(asking).chat.completions.create(
      { model, messages: user(prompt) },
      { signal },
    );
    return answer.choices[0]?.message.content ?? '';
  },
  stream: async function* (asking) {
    const { model, prompt, signal } = asking;
    const body = { model, messages: user(prompt), stream: true } as const;
    for await (const chunk of await openai(asking).chat.completions.create(body, { signal }))
      yield chunk.choices[0]?.delta.content ?? '';
  },
  tools: async (asking) => {
    const called = { ...TOOL, parse: readInput, function: runTool };
    const runner = openai(asking).chat.completions.runTools({
      model: asking.model,
      messages: user(asking.prompt),
      tools: [{ type: 'function', function: called }],
    });
    return (await runner.finalContent()) ?? '';
  },
  image: async (asking, base64) => {
    const url = `data:image/png;base64,${base64}`;
    const content = [
      { type: 'text' as const, text: asking.prompt },
      { type: 'image_url' as const, image_url: { url } },
    ];
    const messages = [{ role: 'user' as const, content }];
    const answer = await openai(asking).chat.completions.create({ model: asking.model, messages });
    return answer.choices[0]?.message.content ?? '';
  },
  embed: async (asking) => {
    const { data } = await openai(asking).embeddings.create({ model: asking.model, input: asking.prompt });
    return data[0]?.embedding ?? [];
  },
  list: async (asking) => collect(openai(asking).models.list(), ({ id }) => id),
};

const RESPONSES: SdkClient = {
  name: 'openai, responses',
  chat: async (asking) => {
    const { model, prompt, signal } = asking;
    return (await openai(asking).responses.create({ model, input: prompt }, { signal })).output_text;
  },
  stream: async function* (asking) {
    const { model, prompt, signal } = asking;
    const stream = await openai(asking).responses.create({ model, input: prompt, stream: true }, { signal });
    for await (const event of stream) if (event.type === 'response.output_text.delta') yield event.delta;
  },
  tools: async (asking) => {
    const { model, prompt } = asking;
    const tools = [{ type: 'function' as const, strict: false, ...TOOL }];
    const first = await openai(asking).responses.create({ model, input: prompt, tools });
    const [call] = first.output;
    if (call?.type !== 'function_call') throw new Error('no call');
    const output = runTool(JSON.parse(call.arguments));
    const result = { type: 'function_call_output' as const, call_id: call.call_id, output };
    const input = [...user(prompt), call, result];
    return (await openai(asking).responses.create({ model, input, tools })).output_text;
  },
  image: async (asking, base64) => {
    const image_url = `data:image/png;base64,${base64}`;
    const content = [
      { type: 'input_text' as const, text: asking.prompt },
      { type: 'input_image' as const, image_url, detail: 'auto' as const },
    ];
    const input = [{ role: 'user' as const, content }];
    return (await openai(asking).responses.create({ model: asking.model, input })).output_text;
  },
};

const textOf = (content: Anthropic.ContentBlock[]): string =>
  content.map((block) => (block.type === 'text' ? block.text : '')).join('');
const MAX = { max_tokens: 50 };

const MESSAGES: SdkClient = {
  name: '@anthropic-ai/sdk',
  chat: async (asking) => {
    const { model, prompt, signal } = asking;
    const body = { model, ...MAX, messages: user(prompt) };
    return textOf((await anthropic(asking).messages.create(body, { signal })).content);
  },
  stream: async function* (asking) {
    const { model, prompt, signal } = asking;
    const body = { model, ...MAX, messages: user(prompt) };
    for await (const event of anthropic(asking).messages.stream(body, { signal }))
      if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') yield event.delta.text;
  },
  tools: async (asking) => {
    const { model, prompt } = asking;
    const { parameters: input_schema, ...named } = TOOL;
    const tools = [{ ...named, input_schema }];
    const first = await anthropic(asking).messages.create({ model, ...MAX, messages: user(prompt), tools });
    const [call] = first.content;
    if (call?.type !== 'tool_use' || first.stop_reason !== 'tool_use') throw new Error('no call');
    const result = {
      type: 'tool_result' as const,
      tool_use_id: call.id,
      content: runTool(call.input as object),
    };
    const messages = [
      ...user(prompt),
      { role: 'assistant' as const, content: first.content },
      { role: 'user' as const, content: [result] },
    ];
    return textOf((await anthropic(asking).messages.create({ model, ...MAX, messages, tools })).content);
  },
  image: async (asking, base64) => {
    const source = { type: 'base64' as const, media_type: 'image/png' as const, data: base64 };
    const content = [
      { type: 'text' as const, text: asking.prompt },
      { type: 'image' as const, source },
    ];
    const body = { model: asking.model, ...MAX, messages: [{ role: 'user' as const, content }] };
    return textOf((await anthropic(asking).messages.create(body)).content);
  },
  list: async (asking) => collect(anthropic(asking).models.list({ limit: 2 }), ({ id }) => id),
};

const GENERATE: SdkClient = {
  name: '@google/genai',
  chat: async (asking) => {
    const { model, prompt, signal } = asking;
    const config = signal ? { abortSignal: signal } : {};
    return (await google(asking).models.generateContent({ model, contents: prompt, config })).text ?? '';
  },
  stream: async function* (asking) {
    const { model, prompt, signal } = asking;
    const config = signal ? { abortSignal: signal } : {};
    const stream = await google(asking).models.generateContentStream({ model, contents: prompt, config });
    for await (const { text } of stream) yield text ?? '';
  },
  tools: async (asking) => {
    const { model, prompt } = asking;
    const parameters = { type: Type.OBJECT, properties: { city: { type: Type.STRING } } };
    const config = { tools: [{ functionDeclarations: [{ ...TOOL, parameters }] }] };
    const { models } = google(asking);
    const first = await models.generateContent({ model, contents: prompt, config });
    const call = first.functionCalls?.[0];
    if (!call) throw new Error('no call');
    const response = { is: runTool(call.args ?? {}) };
    const contents = [
      { role: 'user', parts: [{ text: prompt }] },
      { role: 'model', parts: [{ functionCall: call }] },
      { role: 'user', parts: [{ functionResponse: { name: TOOL.name, response } }] },
    ];
    return (await models.generateContent({ model, contents, config })).text ?? '';
  },
  image: async (asking, base64) => {
    const inlineData = { mimeType: 'image/png', data: base64 };
    const contents = [{ role: 'user', parts: [{ text: asking.prompt }, { inlineData }] }];
    return (await google(asking).models.generateContent({ model: asking.model, contents })).text ?? '';
  },
  list: async (asking) =>
    collect(await google(asking).models.list({ config: { pageSize: 2 } }), ({ name }) => name ?? ''),
};

/** Of all its pages. */
async function collect<T>(pages: AsyncIterable<T>, nameOf: (each: T) => string): Promise<string[]> {
  const names: string[] = [];
  for await (const each of pages) names.push(nameOf(each));
  return names;
}

export const SDK_CLIENTS: readonly SdkClient[] = [CHAT, RESPONSES, MESSAGES, GENERATE, ...ai(TOOL, runTool)];
