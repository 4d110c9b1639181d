/**
 * What the first bytes of an event say of it: in two dialects, whether the model's words are in it, and in all, whether
 * it tells of an error. It is looked at, not parsed: what says nothing that is known here may have words.
 */
import type { Dialect } from '../../core-lite/state/dialect.ts';

/**
 * `words`: as they are made. `item`, `text`: once more, whole. `answer`: all once more. `quiet`: none. `other`: perhaps.
 */
export type EventKind = 'words' | 'item' | 'text' | 'answer' | 'quiet' | 'other';

/** The name of an event, the type in its data and, in it, what a block is. */
export const HEAD_BYTES = 160;

/** Anthropic and Responses say more than words: what was asked, what lives, and in the end all the text once more. */
export function saysKind(dialect: Dialect): boolean {
  return dialect === 'responses' || dialect === 'anthropic';
}

export function kindOf(head: string): EventKind {
  const [, name, type] = TYPE.exec(head) ?? [];
  const said = name ?? type ?? '';
  if (QUIET.test(said) || RESULT.test(head)) return 'quiet';
  if (ANSWER.test(said)) return 'answer';
  if (said.endsWith('.done')) return said.endsWith('item.done') ? 'item' : 'text';
  return head.includes('delta') ? 'words' : 'other';
}

export function isErrorHead(head: string): boolean {
  return ERROR.test(head);
}

const TYPE = /(?:^|[\r\n])event: ?([\w.]+)|^[^"]*"type" ?: ?"([\w.]+)"/;
const QUIET =
  /^(?:ping|keepalive|message_start|message_stop|content_block_stop|response\.(?:created|queued|in_progress)|response\.\w+_part\.(?:added|done))$/;
/** Of a tool that the provider ran: no words of the model. */
const RESULT = /"content_block" ?: ?\{"type" ?: ?"\w+_tool_result"/;
const ANSWER = /^response\.(?:completed|incomplete|failed)$/;
const ERROR =
  /(?:^|[\r\n])(?:event: ?(?:error|response\.failed)[\r\n]|data: ?\{\s*"(?:error" ?: ?[{"]|type" ?: ?"(?:error|response\.failed)"))/;
