/** Answers of Responses, Messages and Gemini. */
import { type Answer, data, JSON_TYPE, named } from './answer.ts';

const RESPONSE_USAGE = {
  input_tokens: 900,
  input_tokens_details: { cached_tokens: 512 },
  output_tokens: 70,
  output_tokens_details: { reasoning_tokens: 64 },
  total_tokens: 970,
};
const RESPONDED = [900, 70, 512, null, 64] as const;
const response = (status: string, more: object = {}) => ({
  id: 'resp_1',
  status,
  output: [],
  error: null,
  ...more,
});
const event = (type: string, body: object = {}) => ({ type: `response.${type}`, ...body });
const created = event('created', { response: response('in_progress', { usage: null }) });
const delta = event('output_text.delta', { delta: 'the "usage" of it', item_id: 'm' });
const longInstructions = 'i'.repeat(5_000);

const responses = (
  text: string,
  tokens: Answer['tokens'],
  name: string,
  more: Partial<Answer> = {},
): Answer => ({
  name: `responses: ${name}`,
  dialect: 'responses',
  text,
  tokens,
  ...more,
});

const RESPONSES_ANSWERS: readonly Answer[] = [
  responses(JSON.stringify(response('completed', { usage: RESPONSE_USAGE })), RESPONDED, 'whole', {
    type: JSON_TYPE,
  }),
  responses(
    JSON.stringify(response('failed', { error: { code: 'server_error' }, usage: null })),
    null,
    'whole, failed',
    { type: JSON_TYPE, failed: true, unbegun: true },
  ),
  responses(
    named(created, delta, event('completed', { response: response('completed', { usage: RESPONSE_USAGE }) })),
    RESPONDED,
    'completed',
  ),
  responses(
    named(created, event('incomplete', { response: response('incomplete', { usage: RESPONSE_USAGE }) })),
    RESPONDED,
    'incomplete',
  ),
  responses(
    named(
      created,
      event('failed', { response: response('failed', { error: { code: 'x' }, usage: RESPONSE_USAGE }) }),
    ),
    RESPONDED,
    'failed',
    { failed: true, unbegun: true },
  ),
  responses(
    named(
      created,
      event('failed', {
        response: response('failed', { error: { code: 'x' }, usage: null, instructions: longInstructions }),
      }),
    ),
    null,
    'failed without usage, a long event',
    { failed: true, unbegun: true },
  ),
  responses(
    named(
      created,
      event('completed', {
        response: response('completed', { usage: RESPONSE_USAGE, instructions: longInstructions }),
      }),
    ),
    RESPONDED,
    'a long last event',
  ),
  responses(
    named(
      created,
      event('completed', {
        response: response('completed', { instructions: 'i'.repeat(200_000), usage: RESPONSE_USAGE }),
      }),
    ),
    RESPONDED,
    'a last event longer than is held',
  ),
  responses(
    data(
      created,
      event('completed', {
        response: response('completed', { usage: RESPONSE_USAGE, instructions: longInstructions }),
      }),
    ),
    RESPONDED,
    'events without a name',
  ),
  responses(named(created, delta), null, 'cut off', { unfinished: true }),
  responses(
    named(
      created,
      event('completed', {
        response: response('completed', { usage: RESPONSE_USAGE, output: [{ usage: { input_tokens: 1 } }] }),
      }),
    ),
    RESPONDED,
    'usage in an item is none',
  ),
  responses(named(created, delta, { type: 'error' }), null, 'an error behind a text', {
    failed: true,
    unfinished: true,
  }),
  responses(named(created, { type: 'error' }), null, 'an error event', {
    failed: true,
    unbegun: true,
    unfinished: true,
  }),
];

const start = (usage: object) => ({ type: 'message_start', message: { id: 'msg_1', content: [], usage } });
const text = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: '語 "usage": {' } };
const end = (usage?: object) => ({
  type: 'message_delta',
  delta: { stop_reason: 'end_turn' },
  ...(usage ? { usage } : {}),
});
const stop = { type: 'message_stop' };
const CACHED_START = {
  input_tokens: 3,
  cache_creation_input_tokens: 12_304,
  cache_read_input_tokens: 0,
  output_tokens: 1,
};

const anthropic = (
  answer: string,
  tokens: Answer['tokens'],
  name: string,
  more: Partial<Answer> = {},
): Answer => ({
  name: `anthropic: ${name}`,
  dialect: 'anthropic',
  text: answer,
  tokens,
  ...more,
});

const ANTHROPIC_ANSWERS: readonly Answer[] = [
  anthropic(
    JSON.stringify({
      type: 'message',
      content: [{ type: 'tool_use', input: { usage: { output_tokens: 9 } } }],
      usage: { input_tokens: 1, output_tokens: 2 },
    }),
    [1, 2],
    'whole, with usage in a tool’s argument',
    { type: JSON_TYPE },
  ),
  anthropic(
    JSON.stringify({
      type: 'message',
      usage: {
        ...CACHED_START,
        output_tokens: 550,
        cache_creation: { ephemeral_5m_input_tokens: 304, ephemeral_1h_input_tokens: 12_000 },
      },
    }),
    [12_307, 550, 0, 12_304],
    'whole, written to the cache for an hour',
    { type: JSON_TYPE, more: { cacheWriteHour: 12_000 } },
  ),
  anthropic(JSON.stringify({ input_tokens: 2095 }), null, 'count_tokens counts nothing', { type: JSON_TYPE }),
  anthropic(JSON.stringify({ type: 'error', error: { type: 'overloaded_error' } }), null, 'whole, an error', {
    type: JSON_TYPE,
    failed: true,
    unbegun: true,
  }),
  anthropic(
    named(start(CACHED_START), text, end({ output_tokens: 550 }), stop),
    [12_307, 550, 0, 12_304],
    'a cache was written',
  ),
  anthropic(
    named(
      start({ input_tokens: 10, cache_read_input_tokens: 900, output_tokens: 1 }),
      end({ output_tokens: 5 }),
      stop,
    ),
    [910, 5, 900],
    'a cache was read',
  ),
  anthropic(
    named(
      start({ input_tokens: 2_679, output_tokens: 3 }),
      text,
      end({
        input_tokens: 10_682,
        cache_read_input_tokens: 0,
        output_tokens: 510,
        server_tool_use: { web_search_requests: 1 },
      }),
      stop,
    ),
    [10_682, 510, 0],
    'a server’s tool grew the input',
    { more: { webSearches: 1 } },
  ),
  anthropic(
    named(
      start({ input_tokens: 7, output_tokens: 1 }),
      end({ output_tokens: 3 }),
      end({ output_tokens: 9 }),
      stop,
    ),
    [7, 9],
    'two totals',
  ),
  anthropic(
    named(start({ input_tokens: 0, output_tokens: 0 }), end({ input_tokens: 40, output_tokens: 9 }), stop),
    [40, 9],
    'a start that knows nothing',
  ),
  anthropic(
    named(start({ input_tokens: 40, output_tokens: 1 }), end({ input_tokens: 0, output_tokens: 9 }), stop),
    [40, 9],
    'an end that left the input empty',
  ),
  anthropic(
    named(start({ input_tokens: 7, output_tokens: 1 }), { type: 'ping' }, end(), stop),
    [7, 1],
    'an end without usage',
  ),
  anthropic(named(start({ input_tokens: 7, output_tokens: 1 }), text), [7, 1], 'cut off after its start', {
    unfinished: true,
  }),
  anthropic(
    `${named(start({ input_tokens: 7, output_tokens: 1 }))}event: message_delta\ndata: {"type":"message_delta","usage":{"output_tokens":80}`,
    [7, 80],
    'cut off behind its last total',
    { unfinished: true },
  ),
  anthropic(
    named(start({ input_tokens: 7, output_tokens: 1 }), {
      type: 'error',
      ...{ error: { type: 'overloaded_error' } },
    }),
    [7, 1],
    'an error event',
    { failed: true, unbegun: true, unfinished: true },
  ),
  anthropic(
    data(start({ input_tokens: 7, output_tokens: 1 }), end({ output_tokens: 5 }), stop),
    [7, 5],
    'events without a name',
  ),
  anthropic(
    named(
      start({ input_tokens: 7, output_tokens: 1 }),
      ...Array.from({ length: 400 }, () => text),
      end({ output_tokens: 400 }),
      stop,
    ),
    [7, 400],
    'behind a long middle',
  ),
  anthropic(
    named(
      start({ input_tokens: 7, output_tokens: 1 }),
      end({ output_tokens: 30, output_tokens_details: { thinking_tokens: 20 } }),
      stop,
    ),
    [7, 30, null, null, 20],
    'told what it thought',
  ),
];

const META = {
  promptTokenCount: 30,
  candidatesTokenCount: 12,
  thoughtsTokenCount: 20,
  cachedContentTokenCount: 16,
  totalTokenCount: 62,
};
const GENERATED = [30, 32, 16, null, 20] as const;
const part = (usageMetadata?: object, finishReason?: string) => ({
  candidates: [
    {
      content: { role: 'model', parts: [{ text: 'hi' }] },
      ...(finishReason ? { finishReason } : {}),
      index: 0,
    },
  ],
  ...(usageMetadata ? { usageMetadata } : {}),
  modelVersion: 'gemini-2.5-flash',
});
const call = {
  candidates: [
    {
      content: { parts: [{ functionCall: { name: 'f', args: { usageMetadata: { promptTokenCount: 1 } } } }] },
      finishReason: 'STOP',
    },
  ],
};
const gemini = (
  answer: string,
  tokens: Answer['tokens'],
  name: string,
  more: Partial<Answer> = {},
): Answer => ({
  name: `gemini: ${name}`,
  dialect: 'gemini',
  text: answer,
  tokens,
  ...more,
});
const list = (...parts: readonly unknown[]) =>
  `[${parts.map((each) => JSON.stringify(each, null, 2)).join('\n,\r\n')}\n]`;
const EARLY = { promptTokenCount: 30, totalTokenCount: 30, cachedContentTokenCount: 16 };

const GEMINI_ANSWERS: readonly Answer[] = [
  gemini(JSON.stringify(part(META, 'STOP')), GENERATED, 'whole', { type: JSON_TYPE }),
  gemini(
    JSON.stringify(part({ ...META, toolUsePromptTokenCount: 100 }, 'STOP')),
    [130, 32, 16, null, 20],
    'a tool’s prompt',
    { type: JSON_TYPE },
  ),
  gemini(
    JSON.stringify({
      promptFeedback: { blockReason: 'SAFETY' },
      usageMetadata: { promptTokenCount: 5, totalTokenCount: 5 },
    }),
    [5, 0],
    'a blocked prompt',
    { type: JSON_TYPE },
  ),
  gemini(JSON.stringify({ totalTokens: 31 }), null, 'countTokens counts nothing', { type: JSON_TYPE }),
  gemini(JSON.stringify({ ...call, usageMetadata: META }), GENERATED, 'usage in a call’s argument is none', {
    type: JSON_TYPE,
  }),
  gemini(
    data(part(EARLY), part({ ...EARLY, candidatesTokenCount: 4 }), part(META, 'STOP')),
    GENERATED,
    'events, totals in each',
  ),
  gemini(data(part(EARLY), part({ ...EARLY, candidatesTokenCount: 4 })), [30, 4, 16], 'events, cut off', {
    unfinished: true,
  }),
  gemini(data(part(META), part(undefined, 'STOP')), GENERATED, 'events, none in the last'),
  gemini(data(part(META), part({ promptTokenCount: 30 }, 'STOP')), GENERATED, 'events, less in the last'),
  gemini(data(call, part(META, 'STOP')), GENERATED, 'events, one with a call'),
  gemini(data({ response: part(META, 'STOP') }), GENERATED, 'events, wrapped'),
  gemini(
    data(part(EARLY), { error: { code: 503, status: 'UNAVAILABLE' } }),
    [30, 0, 16],
    'events, an error',
    { failed: true, unfinished: true },
  ),
  gemini(list(part(EARLY), part(META, 'STOP')), GENERATED, 'a list', { type: JSON_TYPE }),
  gemini(list(call, part(EARLY)).slice(0, -2), [30, 0, 16], 'a list, cut off', {
    type: JSON_TYPE,
    unfinished: true,
  }),
  gemini(list(part(EARLY), { error: { code: 503 } }), [30, 0, 16], 'a list, an error', {
    type: JSON_TYPE,
    failed: true,
  }),
  gemini(JSON.stringify([{ error: { code: 400 } }]), null, 'a list of an error', {
    type: JSON_TYPE,
    failed: true,
    unbegun: true,
  }),
];

export const OTHER_ANSWERS: readonly Answer[] = [
  ...RESPONSES_ANSWERS,
  ...ANTHROPIC_ANSWERS,
  ...GEMINI_ANSWERS,
];
