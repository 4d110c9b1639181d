/** How a stream of events ended, read once from its last bytes: whether with its dialect's last event, or an error. */
import type { Dialect } from '../../core-lite/state/dialect.ts';
import { EventData } from './event-data.ts';
import { JsonScan } from './json-scan.ts';
import { Usage, WANTED } from './usage.ts';

export interface StreamEnd {
  readonly failed: boolean;
  readonly finished: boolean;
}

/**
 * @param tail the last bytes of the stream
 * @param whole whether they are all of it, so that they begin with a line
 */
export function readStreamEnd(dialect: Dialect, tail: Buffer, whole: boolean): StreamEnd {
  const text = (whole ? '\n' : '') + tail.toString('latin1');
  return { finished: LAST_EVENT[dialect].test(text), failed: ERROR_EVENT.test(text) || hasError(text) };
}

/** Whether a line of data holds an error: OpenRouter's stands beside an empty choice. */
function hasError(text: string): boolean {
  if (!text.includes('"error"')) return false;
  const usage = new Usage();
  const data = new EventData(new JsonScan(WANTED, usage.take));
  for (const line of text.split(/[\r\n]/).slice(1)) {
    data.reset();
    data.write(Buffer.from(line, 'latin1'));
  }
  return usage.failed;
}

// A quote in what a model writes is escaped, a line end too: these stand nowhere but where they mean what they say.
const ERROR_EVENT = /[\r\n]event: ?(?:error|response\.failed)[\r\n]/;
const LAST_EVENT: Readonly<Record<Dialect, RegExp>> = {
  openai: /[\r\n]data: ?\[DONE\]/,
  responses: /[\r\n](?:event: ?response\.(?:completed|incomplete|failed)[\r\n]|data: ?\[DONE\])/,
  embeddings: /[\r\n]data: ?\[DONE\]/,
  anthropic: /[\r\n]event: ?message_stop[\r\n]|[\r\n]data: ?\{"type": ?"message_stop"/,
  gemini: /"(?:finishReason|blockReason)": ?"/,
};
