/**
 * The built-in model `fixture/echo`: answers with the last thing the user said, in both dialects, whole or as a
 * stream. It reaches nothing and costs nothing, and its answers are as regular as a provider's, so that a fresh
 * installation works with no account anywhere.
 */
import type { Dialect } from '../../core-lite/state/dialect.ts';
import { ECHO_MODEL } from '../../core-lite/state/model.ts';

export interface EchoAnswer {
  readonly contentType: string;
  readonly body: string;
}

/** The answer to a body; `null` where the body has no messages of its dialect. The same body gets the same answer. */
export function echo(dialect: Dialect, body: Buffer, streamed: boolean): EchoAnswer | null {
  const asked = readMessages(body);
  if (!asked) return null;
  const said = { text: lastSaid(asked), input: countWords(asked.map(textOf).join(' ')), output: 0 };
  said.output = countWords(said.text);
  const answers = dialect === 'openai' ? OPENAI : ANTHROPIC;
  return streamed
    ? { contentType: 'text/event-stream; charset=utf-8', body: answers.events(said) }
    : { contentType: 'application/json', body: JSON.stringify(answers.whole(said)) };
}

interface Said {
  readonly text: string;
  readonly input: number;
  readonly output: number;
}

interface Message {
  readonly role?: unknown;
  readonly content?: unknown;
}

const OPENAI = {
  whole: (said: Said) => ({
    id: 'chatcmpl-echo',
    object: 'chat.completion',
    created: 0,
    model: ECHO_MODEL.name,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: said.text, refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: openaiUsage(said),
  }),
  events: (said: Said) => {
    const chunk = (delta: object, finish: string | null) => ({
      ...CHUNK,
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    });
    const events = [
      chunk({ role: 'assistant', content: '' }, null),
      ...pieces(said.text).map((content) => chunk({ content }, null)),
      chunk({}, 'stop'),
      { ...CHUNK, choices: [], usage: openaiUsage(said) },
    ];
    return `${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')}data: [DONE]\n\n`;
  },
};

const CHUNK = { id: 'chatcmpl-echo', object: 'chat.completion.chunk', created: 0, model: ECHO_MODEL.name };

const ANTHROPIC = {
  whole: (said: Said) => ({
    ...message(said),
    content: [{ type: 'text', text: said.text }],
    stop_reason: 'end_turn',
    usage: { input_tokens: said.input, output_tokens: said.output },
  }),
  events: (said: Said) => {
    const usage = { input_tokens: said.input, output_tokens: 0 };
    const events = [
      { type: 'message_start', message: { ...message(said), content: [], stop_reason: null, usage } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      ...pieces(said.text).map((text) => ({
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'text_delta', text },
      })),
      { type: 'content_block_stop', index: 0 },
      {
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: { output_tokens: said.output },
      },
      { type: 'message_stop' },
    ];
    return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
  },
};

function message(_said: Said) {
  return { id: 'msg_echo', type: 'message', role: 'assistant', model: ECHO_MODEL.name, stop_sequence: null };
}

function openaiUsage({ input, output }: Said) {
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
}

function readMessages(body: Buffer): readonly Message[] | null {
  try {
    const { messages } = JSON.parse(body.toString('utf8')) as { messages?: unknown };
    if (!Array.isArray(messages) || messages.length === 0) return null;
    return messages.every((each) => typeof each === 'object' && each !== null) ? messages : null;
  } catch {
    return null;
  }
}

function lastSaid(messages: readonly Message[]): string {
  const last = messages.findLast(({ role }) => role === 'user');
  return last ? textOf(last) : '';
}

/** Both dialects: a text, or parts of which those of type `text` are one. */
function textOf({ content }: Message): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part: { text?: unknown } | null) => (typeof part?.text === 'string' ? part.text : ''))
    .filter((text) => text !== '')
    .join('\n');
}

/** Words with the space before them, so that a stream has several deltas and never half a character. */
function pieces(text: string): string[] {
  return text.match(/\s*\S+|\s+$/g) ?? [];
}

/** A word counts as a token. */
function countWords(text: string): number {
  return text.match(/\S+/g)?.length ?? 0;
}
