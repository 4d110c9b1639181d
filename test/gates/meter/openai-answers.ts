/** Answers of Chat Completions and Embeddings, by their many servers. */
import { type Answer, data, JSON_TYPE } from './answer.ts';

const USAGE = {
  prompt_tokens: 10,
  completion_tokens: 4,
  total_tokens: 14,
  prompt_tokens_details: { cached_tokens: 6, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 3, accepted_prediction_tokens: 0 },
};
const USED = [10, 4, 6, null, 3] as const;
const say = (content: string, usage?: unknown) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta: { content }, finish_reason: null }],
  ...(usage === undefined ? {} : { usage }),
});
const last = { choices: [], usage: USAGE };
const whole = (
  body: unknown,
  tokens: Answer['tokens'],
  name: string,
  more: Partial<Answer> = {},
): Answer => ({
  name: `whole: ${name}`,
  dialect: 'openai',
  type: JSON_TYPE,
  text: typeof body === 'string' ? body : JSON.stringify(body),
  tokens,
  ...more,
});
const stream = (
  text: string,
  tokens: Answer['tokens'],
  name: string,
  more: Partial<Answer> = {},
): Answer => ({
  name: `stream: ${name}`,
  dialect: 'openai',
  text,
  tokens,
  ...more,
});
const choice = (message: unknown) => ({ choices: [{ index: 0, message, finish_reason: 'stop' }] });
const u = (prompt: number, completion: number, more: object = {}) => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  ...more,
});

export const OPENAI_ANSWERS: readonly Answer[] = [
  whole({ ...choice({ content: 'hi' }), usage: USAGE }, USED, 'usage behind the choices'),
  whole({ usage: USAGE, ...choice({ content: 'hi' }) }, USED, 'usage before the choices'),
  whole(JSON.stringify({ ...choice({ content: 'hi' }), usage: USAGE }, null, 2), USED, 'spread over lines'),
  whole(` {"usage" :\t${JSON.stringify(USAGE)} } \n`, USED, 'odd spacing'),
  whole({ ...choice({ content: '{"usage":{"prompt_tokens":9}}' }), usage: USAGE }, USED, 'usage in a text'),
  whole(
    { ...choice({ content: 'a \\" \\\\', tool_calls: [{ usage: u(9, 9) }] }), usage: USAGE },
    USED,
    'usage in a call',
  ),
  whole({ ...choice({ usage: u(9, 9), content: [{ usage: u(9, 9) }] }) }, null, 'usage in a message alone'),
  whole({ metadata: { usage: u(9, 9) }, usage: u(1, 2) }, [1, 2], 'usage in a field of another name'),
  whole(choice({ content: 'hi' }), null, 'no usage'),
  whole({ usage: null }, null, 'usage is null'),
  whole(
    {
      rows: [[1, 2.5, '],{"usage":{"prompt_tokens":9}}', [-1, { usage: u(9, 9) }], 3], [4, 5], [6]],
      usage: USAGE,
    },
    USED,
    'lists of many kinds',
  ),
  whole({ usage: [u(1, 2)] }, null, 'usage is a list'),
  whole('{"usage":{"prompt_tokens":-1,"completion_tokens":"4"}}', null, 'numbers that are none'),
  whole('{"usage":{"prompt_tokens":1.5,"completion_tokens":1e400}}', null, 'numbers that count nothing'),
  whole('{"usage":{"prompt_tokens":7,"completion_tokens":3}', [7, 3], 'cut off behind its usage', {
    unfinished: true,
  }),
  whole('{"usage":{"prompt_tokens":7,"completion_tokens":3', null, 'cut off in its usage', {
    unfinished: true,
  }),
  whole('<html>usage": {"a":1}</html>', null, 'no JSON', { unfinished: true }),
  whole('', null, 'empty', { unfinished: true }),
  whole({ error: { message: 'no', type: 'server_error' } }, null, 'an error in a 200', {
    failed: true,
    unbegun: true,
  }),
  whole({ error: null, usage: u(1, 2) }, [1, 2], 'an error that is none'),
  whole(
    { usage: u(100, 9, { total_tokens: 203, completion_tokens_details: { reasoning_tokens: 94 } }) },
    [100, 103, null, null, 94],
    'xAI: what was reasoned stands apart',
  ),
  whole(
    { usage: u(100, 94, { completion_tokens_details: { reasoning_tokens: 95 } }) },
    [100, 189, null, null, 95],
    'reasoned more than was written',
  ),
  whole(
    { usage: u(10, 4, { total_tokens: 30 }) },
    [10, 20],
    'Gemini’s OpenAI routes: thoughts in the total alone',
  ),
  whole({ usage: u(10, 4, { total_tokens: 0 }) }, [10, 4], 'a total that is none'),
  whole(
    { usage: u(1700, 30, { prompt_cache_hit_tokens: 1536, prompt_cache_miss_tokens: 164 }) },
    [1700, 30, 1536],
    'DeepSeek',
  ),
  whole(
    { usage: { prompt_cache_hit_tokens: 5, prompt_cache_miss_tokens: 6, completion_tokens: 2 } },
    [11, 2, 5],
    'hits and misses alone',
  ),
  whole({ usage: u(12, 3, { cached_tokens: 8 }) }, [12, 3, 8], 'cached tokens beside the others'),
  whole(
    {
      usage: u(1000, 30, {
        cost: 0.01,
        prompt_tokens_details: { cached_tokens: 100, cache_write_tokens: 800 },
      }),
    },
    [1000, 30, 100, 800],
    'OpenRouter: a cache was written',
    { more: { toldUsd: 0.01 } },
  ),
  whole(
    { usage: u(3, 5, { prompt_tokens_details: { cached_tokens: 50 } }) },
    [53, 5, 50],
    'an input without its cached part',
  ),
  whole({ usage: { input_tokens: 3, output_tokens: 4 } }, [3, 4], 'the names of another dialect'),
  whole(
    { usage: u(3, 4, { prompt_tokens_details: null, completion_tokens_details: null }) },
    [3, 4],
    'vLLM: details are null',
  ),

  stream(data(say('a', null), say('b', null), last, '[DONE]'), USED, 'in the last chunk, without choices'),
  stream(data(say('a', null), last, { choices: [] }, '[DONE]'), USED, 'in the last chunk but one'),
  stream(data(last, say('a'), say('b'), '[DONE]'), USED, 'first'),
  stream(data(say('a', u(10, 1)), say('b', u(10, 2)), '[DONE]'), [10, 2], 'in every chunk, growing'),
  stream(data(say('a'), last, last, '[DONE]'), USED, 'twice'),
  stream(data(last, { choices: [], usage: u(0, 0) }, '[DONE]'), USED, 'later zeros are fields left empty'),
  stream(data(say('a'), '[DONE]'), null, 'never'),
  stream(data(say('x', USAGE), '[DONE]'), USED, 'beside a choice'),
  stream(data({ choices: [{ delta: { usage: u(9, 9) } }] }, last, '[DONE]'), USED, 'in a delta is none'),
  stream(data(say('the "usage": {"prompt_tokens": 9}'), '[DONE]'), null, 'in a text is none'),
  stream(data(say('usage'), { object: 'usage', choices: [] }, last, '[DONE]'), USED, 'as a value is none'),
  stream(data(say('a'), { choices: [], x_groq: { id: 'r', usage: USAGE } }, '[DONE]'), USED, 'Groq: x_groq'),
  stream(
    data({ choices: [], x_groq: { usage: USAGE }, usage: USAGE }, '[DONE]'),
    USED,
    'Groq: in both places',
  ),
  stream(
    `: OPENROUTER PROCESSING\n\n${data(say('a'), { choices: [], usage: { ...USAGE, cost: 0.5 } }, '[DONE]')}`,
    USED,
    'OpenRouter: comments',
    { more: { toldUsd: 0.5 } },
  ),
  stream(data(say('a'), last), USED, 'ends without [DONE]', { unfinished: true }),
  stream(`${data(say('a'), last)}data: {"choices":[],"us`, USED, 'cut off behind its usage', {
    unfinished: true,
  }),
  stream(`${data(say('a'))}data: ${JSON.stringify(last)}`, USED, 'cut off before the event’s end', {
    unfinished: true,
  }),
  stream(`${data(say('a'))}data: {"choices":[],"usage":{"prompt_tok`, null, 'cut off in its usage', {
    unfinished: true,
  }),
  stream('', null, 'empty', { unfinished: true }),
  stream(data(say('a'), last, '[DONE]').replaceAll('\n', '\r\n'), USED, 'CRLF'),
  stream(data(say('a'), last, '[DONE]').replaceAll('\n', '\r'), USED, 'CR'),
  stream(data(say('a'), last, '[DONE]').replaceAll('\n\n', '\n\r\n'), USED, 'line ends of two kinds'),
  stream(data(say('a'), last, '[DONE]').replaceAll('data: ', 'data:'), USED, 'no space behind the colon'),
  stream(`id: 7\nevent: message\nretry: 5\n${data(last, '[DONE]')}`, USED, 'other fields'),
  stream(
    `data: ${JSON.stringify(last, null, 1).replaceAll('\n', '\ndata: ')}\n\ndata: [DONE]\n\n`,
    USED,
    'data of many lines',
  ),
  stream(
    data(`{"choices":[],"usage": {"prompt_tokens": 1 ,"completion_tokens":2}}`, '[DONE]'),
    [1, 2],
    'odd spacing',
  ),
  stream(data(say('a'), { error: { message: 'overloaded', code: 502 } }), null, 'an error event', {
    failed: true,
    unfinished: true,
  }),
  stream(
    data(
      say('a'),
      { error: { code: 'server_error' }, choices: [{ finish_reason: 'error' }], usage: u(7, 1) },
      '[DONE]',
    ),
    [7, 1],
    'OpenRouter: an error beside a choice',
    { failed: true },
  ),
  stream(
    data({ id: 'x', choices: [], error: { code: 502 } }, '[DONE]'),
    null,
    'an error behind other fields',
    { failed: true, unbegun: true },
  ),
  stream(
    `: ping\n\n${data(choice({ role: 'assistant', content: '', refusal: null }), { error: { code: 503 } })}`,
    null,
    'an error behind a role',
    { failed: true, unbegun: true, unfinished: true },
  ),
  stream(
    data(choice({ tool_calls: [{ index: 0, id: 'c' }] }), { error: { code: 503 } }),
    null,
    'one behind a call',
    {
      failed: true,
      unfinished: true,
    },
  ),
  stream(data('hi', { error: { code: 503 } }), null, 'one behind what cannot be read', {
    failed: true,
    unfinished: true,
  }),
  stream(data(say('{"error":{"a":1}}'), '[DONE]'), null, 'an error in a text is none'),
  stream(`event: error\ndata: {"message":"no"}\n\n`, null, 'an event named error', {
    failed: true,
    unbegun: true,
    unfinished: true,
  }),
  stream(data({ pad: 'p'.repeat(70_000), usage: USAGE }, '[DONE]'), USED, 'an event longer than is held'),
  stream(
    data(say('a'), { usage: USAGE, pad: '"\\'.repeat(40_000) }, say('b'), '[DONE]'),
    USED,
    'a long event between short ones',
  ),
  stream(
    data(...Array.from({ length: 900 }, (_, i) => say(`"usage" ${i}`, null)), last, '[DONE]'),
    USED,
    'behind a long middle',
  ),

  whole(data(say('a'), last, '[DONE]'), USED, 'a stream that is called JSON'),
  whole(`: hi\n\n${data(last, '[DONE]')}`, USED, 'a stream without a type', { type: '' }),
  stream(
    JSON.stringify({ ...choice({ content: 'hi' }), usage: USAGE }),
    USED,
    'JSON that is called a stream',
  ),
  stream('{"error":{"message":"no"}}', null, 'an error that is called a stream', {
    failed: true,
    unbegun: true,
  }),
  {
    name: 'embeddings',
    dialect: 'embeddings',
    type: JSON_TYPE,
    text: JSON.stringify({
      data: [{ embedding: [0.1, -2e-3, 1] }],
      usage: { prompt_tokens: 8, total_tokens: 8 },
    }),
    tokens: [8, 0],
  },
  {
    name: 'embeddings without usage',
    dialect: 'embeddings',
    type: JSON_TYPE,
    text: '{"data":[]}',
    tokens: null,
  },
];
