/** What providers of the other dialects do: where their usage stands, how their streams end, what they count. */
import { answers, type Behaviour, type ExpectedRow, openStream, streams } from './behaviour.ts';

const named = (type: string, fields: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
const STREAM = { more: { stream: true } };
const OK = { status: 200 };

function rows(
  dialect: Behaviour['dialect'],
  table: readonly (readonly [
    string,
    Behaviour['script'],
    ExpectedRow,
    Behaviour['client']?,
    Behaviour['ask']?,
  ])[],
): Behaviour[] {
  return table.map(([name, script, row, client = OK, ask = STREAM]) => ({
    name,
    dialect,
    script,
    row,
    client,
    ask,
  }));
}

const start = (usage: object): string =>
  named('message_start', { message: { id: 'm', type: 'message', role: 'assistant', content: [], usage } });
const TEXT =
  named('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }) +
  named('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'hello' } }) +
  named('content_block_stop', { index: 0 });
const delta = (usage: object): string =>
  named('message_delta', { delta: { stop_reason: 'end_turn' }, usage });
const STOP = named('message_stop');
const OVERLOADED = named('error', { error: { type: 'overloaded_error', message: 'Overloaded' } });
const SEEN = start({ input_tokens: 100, output_tokens: 1 });
const PAID: ExpectedRow = { outcome: 'completed', tokens: [100, 20], cost: 0.0006 };
const WHOLE = {};
/** An error before the model wrote anything: nothing is charged. */
const FAILED: ExpectedRow = { outcome: 'provider_error' };

const ANTHROPIC = rows('anthropic', [
  ['usage at both ends', streams(SEEN, TEXT, delta({ output_tokens: 20 }), STOP), PAID],
  [
    'pings between',
    streams(SEEN, named('ping'), TEXT, named('ping'), delta({ output_tokens: 20 }), STOP),
    PAID,
  ],
  [
    'a cache written once, charged once',
    streams(
      start({
        input_tokens: 3,
        cache_creation_input_tokens: 12304,
        cache_read_input_tokens: 0,
        output_tokens: 1,
      }),
      delta({ output_tokens: 550 }),
      STOP,
    ),
    { outcome: 'completed', tokens: [12307, 550, 0, 12304], cost: 0.054399 },
  ],
  [
    'larger totals at the end, as of tools at the server',
    streams(SEEN, TEXT, delta({ input_tokens: 1000, cache_read_input_tokens: 500, output_tokens: 20 }), STOP),
    { outcome: 'completed', tokens: [1500, 20, 500], cost: 0.00345 },
  ],
  [
    'a signature of thoughts',
    streams(
      SEEN,
      named('content_block_delta', { index: 0, delta: { type: 'signature_delta', signature: 'Eu\\/+==' } }),
      delta({ output_tokens: 20 }),
      STOP,
    ),
    PAID,
  ],
  ['overloaded at once', streams(OVERLOADED), FAILED],
  ['overloaded behind a ping', streams(named('ping'), OVERLOADED), FAILED],
  [
    'overloaded behind what it read',
    streams(SEEN, OVERLOADED),
    { outcome: 'provider_error', tokens: [100, 1], cost: 0.000315 },
  ],
  [
    'overloaded in the middle',
    streams(SEEN, TEXT, OVERLOADED),
    { outcome: 'provider_error', tokens: [100, 64], cost: 0.00126, presumed: true },
  ],
  [
    'RST behind what it read',
    async (wire) => {
      await openStream(wire).chunk(SEEN).chunk(TEXT.slice(0, -20)).delivered();
      wire.reset();
    },
    { outcome: 'provider_died', tokens: [100, 64], cost: 0.00126, presumed: true },
    {
      status: 200,
      body: /^event: message_start.*hello.*\nevent: error\ndata: .*"code":"provider_died"\}\}\n\n$/s,
    },
  ],
  [
    'a whole answer',
    answers('200 OK', '{"type":"message","content":[],"usage":{"input_tokens":100,"output_tokens":20}}'),
    PAID,
    OK,
    WHOLE,
  ],
  [
    '529',
    answers('529 ', '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'),
    { outcome: 'provider_error' },
    { status: 529 },
    WHOLE,
  ],
  [
    'a count',
    answers('200 OK', '{"input_tokens":2095}'),
    { outcome: 'completed', tokens: [0, 0, 0, 0, 0], cost: 0 },
    OK,
    { path: '/v1/messages/count_tokens?beta=true' },
  ],
  [
    'a count that is refused',
    answers('400 Bad Request', '{"type":"error"}'),
    { outcome: 'provider_error' },
    { status: 400 },
    { path: '/v1/messages/count_tokens' },
  ],
]);

const response = (status: string, usage: object | null): object => ({ response: { id: 'r', status, usage } });
const USED = { input_tokens: 100, output_tokens: 20, output_tokens_details: { reasoning_tokens: 8 } };
const CREATED = named('response.created', response('in_progress', null));
const SAID = named('response.output_text.delta', { delta: 'hello "usage":{"input_tokens":5}' });
const READ: ExpectedRow = { outcome: 'completed', tokens: [100, 20, null, null, 8], cost: 0.000325 };

const RESPONSES = rows('responses', [
  [
    'usage in the last event',
    streams(CREATED, SAID, named('response.completed', response('completed', USED))),
    READ,
  ],
  [
    'an incomplete response',
    streams(CREATED, SAID, named('response.incomplete', response('incomplete', USED))),
    READ,
  ],
  ['a failed response', streams(CREATED, named('response.failed', response('failed', null))), FAILED],
  ['an error event', streams(CREATED, named('error', { code: 'server_error', message: 'no' })), FAILED],
  [
    'an error event behind a text',
    streams(CREATED, SAID, named('error', { code: 'server_error', message: 'no' })),
    { outcome: 'provider_error', tokens: 'presumed' },
  ],
  [
    'a whole response that failed',
    answers(
      '200 OK',
      JSON.stringify({ id: 'r', status: 'failed', error: { code: 'server_error' }, output: [] }),
    ),
    FAILED,
    OK,
    WHOLE,
  ],
  [
    'FIN in the middle',
    async (wire) => {
      await openStream(wire).chunk(CREATED).chunk(SAID).delivered();
      wire.fin();
    },
    { outcome: 'provider_died', tokens: 'presumed' },
    { status: 200, body: /hello.*\n\nevent: error\ndata: .*"code":"provider_died".*\n\n$/s },
  ],
  [
    'a whole response',
    answers('200 OK', JSON.stringify({ id: 'r', output: [], usage: USED })),
    READ,
    OK,
    WHOLE,
  ],
]);

const part = (text: string, usage?: object, more: object = {}): string =>
  JSON.stringify({
    candidates: [{ content: { parts: [{ text }], role: 'model' }, index: 0, ...more }],
    ...(usage ? { usageMetadata: usage } : {}),
  });
const lines = (...parts: readonly string[]): string[] => parts.map((each) => `data: ${each}\r\n\r\n`);
const COUNTED = {
  promptTokenCount: 100,
  candidatesTokenCount: 15,
  thoughtsTokenCount: 5,
  totalTokenCount: 120,
};
const SOME = { promptTokenCount: 100, totalTokenCount: 100 };
const END = { finishReason: 'STOP' };
const GENERATED: ExpectedRow = { outcome: 'completed', tokens: [100, 20, null, null, 5], cost: 0.00008 };
const SSE = { path: '/v1beta/models/google:streamGenerateContent?alt=sse' };

const GEMINI = rows('gemini', [
  ['usage in each event', streams(...lines(part('he', SOME), part('llo', COUNTED, END))), GENERATED, OK, SSE],
  [
    'a stream that is a list',
    (wire) => {
      wire.head('200 OK', 'Content-Type: application/json', 'Transfer-Encoding: chunked');
      wire
        .chunk(`[${part('he', SOME)}`)
        .chunk(`,\r\n${part('llo', COUNTED, END)}`)
        .chunk(']')
        .last();
    },
    GENERATED,
    OK,
    { path: '/v1beta/models/google:streamGenerateContent' },
  ],
  ['a whole answer', answers('200 OK', part('hello', COUNTED, END)), GENERATED, OK, WHOLE],
  [
    'a prompt that is blocked',
    answers('200 OK', JSON.stringify({ promptFeedback: { blockReason: 'SAFETY' }, usageMetadata: SOME })),
    { outcome: 'completed', tokens: [100, 0], cost: 0.00003 },
    OK,
    WHOLE,
  ],
  [
    'an error',
    answers(
      '429 Too Many Requests',
      '{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"9s"}]}}',
    ),
    { outcome: 'provider_error' },
    { status: 429 },
    WHOLE,
  ],
  ['an error first', streams(...lines('{"error":{"code":503,"status":"UNAVAILABLE"}}')), FAILED, OK, SSE],
  [
    'FIN in the middle',
    async (wire) => {
      await openStream(wire)
        .chunk(lines(part('hello'))[0] ?? '')
        .delivered();
      wire.fin();
    },
    { outcome: 'provider_died', tokens: 'presumed' },
    { status: 200, body: /hello.*data: \{"error":.*provider_died.*\n\n$/s },
    SSE,
  ],
  [
    'a count',
    answers('200 OK', '{"totalTokens":31}'),
    { outcome: 'completed', tokens: [0, 0, 0, 0, 0], cost: 0 },
    OK,
    { path: '/v1beta/models/google:countTokens' },
  ],
]);

const EMBEDDED = '"data":[{"embedding":[0.1,-0.20000000000000001],"index":0}]';
const EMBEDDINGS = rows('embeddings', [
  [
    'numbers as they were written',
    answers('200 OK', `{${EMBEDDED},"usage":{"prompt_tokens":100,"total_tokens":100}}`),
    { outcome: 'completed', tokens: [100, 0], cost: 0.000002 },
    OK,
    WHOLE,
  ],
  ['no usage', answers('200 OK', `{${EMBEDDED}}`), { outcome: 'completed', tokens: 'presumed' }, OK, WHOLE],
]);

export const OTHER_BEHAVIOURS: readonly Behaviour[] = [...ANTHROPIC, ...RESPONSES, ...GEMINI, ...EMBEDDINGS];
