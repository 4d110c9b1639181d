/** What providers of Chat Completions do, in streams above all, where usage stands and how they end. */
import { answers, type Behaviour, type ExpectedRow, openStream, streams } from './behaviour.ts';

const choice = (delta: object, finish: string | null = null) => ({
  index: 0,
  delta,
  finish_reason: finish,
});
const event = (fields: object): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'gpt-5', ...fields })}\n\n`;
export const says = (content: string, more: object = {}): string =>
  event({ choices: [choice({ content })], ...more });
const usage = (input: number, output: number, more: object = {}) => ({
  usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output, ...more },
});
const USED = usage(100, 20);
export const HELLO = says('hello');
const STOP = event({ choices: [choice({}, 'stop')] });
const USAGE = event({ choices: [], ...USED });
export const DONE = 'data: [DONE]\n\n';
const ERROR = 'data: {"error":{"message":"The server had an error","type":"server_error","code":null}}\n\n';
/** Tokens of `USED` at the price of gpt-5. */
const COST = 0.000325;
export const PAID: ExpectedRow = { outcome: 'completed', tokens: [100, 20], cost: COST };
const UNMETERED: ExpectedRow = { outcome: 'completed', tokens: 'presumed' };
const DIED: ExpectedRow = { outcome: 'provider_died', tokens: 'presumed' };
/** An error before the model wrote anything: nothing is charged. */
const FAILED: ExpectedRow = { outcome: 'provider_error' };
const ROLE = { role: 'assistant', content: '' };
const OK = { status: 200 };
/** What came, and the dialect's own error event behind it. */
export const BROKEN = { status: 200, body: /^data: .*hello.*"code":"provider_died"\}\}\n\n$/s };
const ASKED = { more: { stream: true, stream_options: { include_usage: true } } };

/** A row of the table of Chat Completions, which asks for the usage. */
function row(
  name: string,
  script: Behaviour['script'],
  expected: ExpectedRow,
  client: Behaviour['client'] = OK,
): Behaviour {
  return { name, dialect: 'openai', ask: ASKED, script, client, row: expected };
}

const argument = (text: string): string =>
  event({ choices: [choice({ tool_calls: [{ index: 0, function: { arguments: text } }] })] });

const USAGE_PLACES: readonly Behaviour[] = [
  row('usage last, in a chunk without choices', streams(HELLO, STOP, USAGE, DONE), PAID),
  {
    ...row('usage that nobody asked for is hidden', streams(HELLO, STOP, USAGE, DONE), PAID),
    ask: { more: { stream: true } },
    client: { status: 200, body: HELLO + STOP + DONE },
  },
  row(
    'usage in the last but one, an empty one behind it',
    streams(HELLO, USAGE, event({ choices: [] }), DONE),
    PAID,
  ),
  row('usage first', streams(USAGE, HELLO, STOP, DONE), PAID),
  row('usage twice, as running totals', streams(says('hello', usage(100, 3)), STOP, USAGE, DONE), PAID),
  row('usage twice, the same', streams(HELLO, USAGE, USAGE, DONE), PAID),
  row('usage never', streams(HELLO, STOP, DONE), UNMETERED),
  row('usage null till the last', streams(says('hello', { usage: null }), USAGE, DONE), PAID),
  row('usage null to the end', streams(says('hello', { usage: null }), DONE), UNMETERED),
  row(
    'usage beside the last choice',
    streams(HELLO, event({ choices: [choice({}, 'stop')], ...USED }), DONE),
    PAID,
  ),
  row('usage behind the end', streams(HELLO, STOP, DONE, USAGE), PAID),
  row(
    'usage in what the model says is none',
    streams(says('"usage":{"prompt_tokens":9,"completion_tokens":9}'), USAGE, DONE),
    PAID,
  ),
  row(
    'usage with details',
    streams(
      HELLO,
      event({
        choices: [],
        ...usage(100, 20, {
          prompt_tokens_details: { cached_tokens: 40 },
          completion_tokens_details: { reasoning_tokens: 12 },
        }),
      }),
      DONE,
    ),
    { outcome: 'completed', tokens: [100, 20, 40, null, 12], cost: 0.00028 },
  ),
];

const ENDS: readonly Behaviour[] = [
  row('a clean end without the last event', streams(HELLO, USAGE), PAID),
  row(
    'FIN between two events',
    async (wire) => {
      await openStream(wire).chunk(HELLO).delivered();
      wire.fin();
    },
    DIED,
    BROKEN,
  ),
  row(
    'FIN in an event',
    async (wire) => {
      await openStream(wire).chunk(HELLO).chunk(HELLO.slice(0, 30)).delivered();
      wire.fin();
    },
    DIED,
    BROKEN,
  ),
  row(
    'RST in an event',
    async (wire) => {
      await openStream(wire).chunk(HELLO).chunk(HELLO.slice(0, 30)).delivered();
      wire.reset();
    },
    DIED,
    BROKEN,
  ),
  row(
    'RST behind its usage',
    async (wire) => {
      await openStream(wire).chunk(HELLO).chunk(USAGE).delivered();
      wire.reset();
    },
    { outcome: 'provider_died', tokens: [100, 20], cost: COST, presumed: true },
    BROKEN,
  ),
  row('an error event first', streams(ERROR, DONE), FAILED),
  row('an error event behind a role', streams(event({ choices: [choice(ROLE)] }), ERROR, DONE), FAILED),
  row('an error behind told usage', streams(event({ choices: [choice(ROLE)], ...USED }), ERROR), {
    outcome: 'provider_error',
    tokens: [100, 20],
    cost: COST,
  }),
  row('an error event in the middle', streams(HELLO, ERROR), {
    outcome: 'provider_error',
    tokens: 'presumed',
  }),
  row(
    'an error beside a choice',
    streams(HELLO, event({ error: { code: 502, message: 'no' }, choices: [choice({}, 'error')] }), DONE),
    {
      outcome: 'provider_error',
      tokens: 'presumed',
    },
  ),
  {
    ...row('silence for longer than a stream may', (wire) => openStream(wire).chunk(HELLO), {
      outcome: 'provider_timeout',
      tokens: 'presumed',
    }),
    ask: { ...ASKED, impatient: true },
    client: { status: 200, body: /hello.*"code":"provider_timeout"\}\}\n\n$/s },
  },
  {
    ...row('silence before the first event, its caller leaves', async (wire) => openStream(wire).left(), {
      outcome: 'client_left',
      tokens: 'presumed',
    }),
    ask: { ...ASKED, leavesAt: 0 },
    client: { status: 200, whole: false, body: '' },
  },
  {
    ...row('events without end, its caller leaves', async (wire) => openStream(wire).chunk(HELLO).left(), {
      outcome: 'client_left',
      tokens: 'presumed',
    }),
    ask: { ...ASKED, leavesAt: 1 },
    client: { status: 200, whole: false, body: HELLO },
  },
];

const ODD = says('漢字 🎉 né 👩‍👩‍👧‍👦');
const IMAGE = says('x'.repeat(1024 * 1024));
const SHAPES: readonly Behaviour[] = [
  row(
    'a byte at a time, in characters of up to four',
    async (wire) => {
      const bytes = Buffer.from(ODD + USAGE + DONE);
      (await openStream(wire).chunks(Array.from(bytes, (byte) => Buffer.of(byte)))).last();
    },
    PAID,
  ),
  row(
    'a line of data in three pieces',
    async (wire) => {
      (
        await openStream(wire).chunks([ODD.slice(0, 9), ODD.slice(9, -12), ODD.slice(-12), USAGE, DONE])
      ).last();
    },
    PAID,
  ),
  row(
    'fifty pieces of an argument',
    streams(...Array.from({ length: 50 }, (_, i) => argument(`${i},`)), USAGE, DONE),
    PAID,
  ),
  row('lines that end with CR and LF', streams((HELLO + USAGE + DONE).replaceAll('\n', '\r\n')), PAID),
  row(
    'comments and a byte order mark',
    streams(`\ufeff: OPENROUTER PROCESSING\n\n${HELLO}`, ':\n\n', USAGE, DONE),
    PAID,
  ),
  row(
    'ids and retries of its own',
    streams(`id: 7\nretry: 10\n${HELLO}`, `id\n${USAGE}`, 'id: 9\n\n', DONE),
    PAID,
    {
      status: 200,
      body: `${HELLO}${USAGE}\n${DONE}`,
    },
  ),
  row('an event of a mebibyte', streams(IMAGE, USAGE, DONE), PAID),
  row(
    'a line without an end',
    async (wire) => {
      openStream(wire).chunk(HELLO).chunk('data: ');
      const part = 'x'.repeat(1024 * 1024);
      for (let i = 0; i < 9; i += 1) wire.chunk(part);
      await wire.left();
    },
    DIED,
    { status: 200, body: /^data: .*hello.*xxx(?:.*"code":"provider_died"\}\}\n\n)?$/s },
  ),
  {
    ...row('four mebibytes for a slow reader', streams(IMAGE, IMAGE, IMAGE, IMAGE, USAGE, DONE), PAID),
    ask: { ...ASKED, slow: true },
  },
  row(
    'a stream with a length',
    (wire) => {
      const text = HELLO + USAGE + DONE;
      wire.head('200 OK', 'Content-Type: text/event-stream', `Content-Length: ${text.length}`).plain(text);
    },
    PAID,
  ),
  row('a stream though none was asked for', streams(HELLO, USAGE, DONE), PAID),
];

const whole = (fields: object): string =>
  JSON.stringify({
    id: 'c',
    object: 'chat.completion',
    choices: [{ message: { content: 'hi' } }],
    ...fields,
  });
const WHOLE: readonly Behaviour[] = [
  row('a whole answer', answers('200 OK', whole(USED)), PAID),
  row('a whole answer without usage', answers('200 OK', whole({})), UNMETERED),
  row('a whole answer with its usage null', answers('200 OK', whole({ usage: null })), UNMETERED),
  row(
    'odd spacing and big numbers',
    answers(
      '200 OK',
      `{ "x" : 1e999, "y":12345678901234567890,\n"usage" : {"prompt_tokens":100 ,"completion_tokens":20}}`,
    ),
    PAID,
  ),
  row(
    'an answer of 20 MiB',
    answers('200 OK', `{"text":"${'漢字'.repeat((20 * 1024 * 1024) / 6)}",${whole(USED).slice(1)}`),
    PAID,
  ),
  row('an answer that is no JSON', answers('200 OK', '<html>no</html>'), UNMETERED),
  row('an answer of nothing', (wire) => wire.head('204 No Content'), UNMETERED, { status: 204, body: '' }),
].map((each) => ({ ...each, ask: {} }));

export const OPENAI_BEHAVIOURS: readonly Behaviour[] = [...USAGE_PLACES, ...ENDS, ...SHAPES, ...WHOLE];
