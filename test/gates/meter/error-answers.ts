/** Errors with words of the model in them, or that are longer than what is kept of a stream's end. */
import type { Dialect } from '../../../core-lite/state/dialect.ts';
import { type Answer, data, JSON_TYPE, named } from './answer.ts';

const SAID = 'word '.repeat(2_000);
const role = { choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] };
const failed = (response: object) =>
  named({ type: 'response.created', ...{ response: { instructions: SAID } } }) +
  named({ type: 'response.failed', ...{ response: { instructions: SAID, usage: null, ...response } } });
const error = (text: string, name: string, dialect: Dialect, more: Partial<Answer> = {}): Answer => ({
  name: `${dialect}: ${name}`,
  dialect,
  text,
  tokens: null,
  failed: true,
  ...more,
});
const NONE = { unbegun: true } as const;
const CUT = { unfinished: true } as const;
const errorEvent = (fields: object) => `event: error\ndata: ${JSON.stringify(fields)}\n\n`;

export const ERROR_ANSWERS: readonly Answer[] = [
  error(data(role) + errorEvent({ error: { failed_generation: 'wor' } }), 'a few words', 'openai', CUT),
  error(data(role) + errorEvent({ error: { failed_generation: SAID } }), 'many words', 'openai', CUT),
  error(data(role, { error: { message: SAID } }, '[DONE]'), 'a long error of data alone', 'openai'),
  error(data(role, { error: { failed_generation: '' } }, '[DONE]'), 'no words', 'openai', NONE),
  error(JSON.stringify({ error: { failed_generation: 'wor' } }), 'words in JSON', 'openai', {
    type: JSON_TYPE,
  }),
  error(errorEvent({ type: 'error', error: { message: SAID } }), 'a long error', 'anthropic', CUT),
  error(errorEvent({ type: 'error', error: { message: SAID.repeat(9) } }), 'a longer', 'anthropic', CUT),
  error(failed({ error: { code: 'x' }, output: [{ type: 'message' }] }), 'an output', 'responses'),
  error(failed({ error: { code: 'x' }, output: [] }), 'no output', 'responses', NONE),
  error(
    failed({ error: { code: 'x' }, more: SAID.repeat(4), output: [{ type: 'message' }] }),
    'an output behind much else',
    'responses',
  ),
  error(
    failed({ error: { code: 'x' }, more: SAID.repeat(4), output: [] }),
    'much without one',
    'responses',
    NONE,
  ),
  error(data({ error: { code: 500, message: SAID } }), 'a long error', 'gemini', CUT),
];
