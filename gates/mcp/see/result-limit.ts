/** How large a result may be. What is cut is text, with a note in its place; what is not text stays whole or is refused. */
import type { McpServer } from '../../../core-lite/state/manifest/mcp-server.ts';
import { type Answer, isJsonObject, type JsonObject } from '../messages.ts';
import { type Failed, fail } from '../upstream/failures.ts';

/** The result, maybe with less text, or that it is too large: it was given, so the tool ran. */
export function limitResult(
  method: string,
  result: JsonObject,
  { resultBytes, onLargeResult }: Pick<McpServer, 'resultBytes' | 'onLargeResult'>,
): Answer | Failed {
  const field = Object.hasOwn(LIMITED, method) ? LIMITED[method] : undefined;
  if (field === undefined) return { result };
  const bytes = sizeOf(result);
  if (bytes <= resultBytes) return { result };
  const cut = onLargeResult === 'cut' ? cutTexts(result, field, resultBytes) : null;
  return cut
    ? { result: cut }
    : fail('too_large', true, `${bytes} bytes, of which the session takes ${resultBytes}`);
}

/** `null` where it is too large without any text. */
function cutTexts(result: JsonObject, field: string, maxBytes: number): JsonObject | null {
  const parts = result[field];
  if (!Array.isArray(parts)) return null;
  const bare = {
    ...result,
    [field]: parts.map((part) => (textOf(part) === null ? part : { ...part, text: '' })),
  };
  let room = maxBytes - sizeOf(bare) - NOTE_BYTES * parts.length;
  if (room < 0) return null;
  const cut = parts.map((part) => {
    const text = textOf(part);
    if (text === null) return part;
    const bytes = sizeOf(text);
    if (bytes <= room) {
      room -= bytes;
      return part;
    }
    const kept = shorten(text, room);
    room -= sizeOf(kept);
    return { ...part, text: `${kept}\n[cut: ${text.length - kept.length} characters more]` };
  });
  return { ...result, [field]: cut };
}

function textOf(part: unknown): string | null {
  const text = isJsonObject(part) ? part['text'] : null;
  return typeof text === 'string' ? text : null;
}

/** As much of its beginning as takes no more than `room` bytes in JSON. */
function shorten(text: string, room: number): string {
  let [low, high] = [0, Math.min(text.length, room)];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (sizeOf(text.slice(0, middle)) <= room) low = middle;
    else high = middle - 1;
  }
  return text
    .slice(0, low)
    .toWellFormed()
    .replace(/\uFFFD$/, '');
}

export function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? '');
}

/** Where texts stand. Lists are bounded before: a list of tools is no result that a model reads. */
const LIMITED: Readonly<Record<string, string>> = {
  'tools/call': 'content',
  'resources/read': 'contents',
  'prompts/get': 'messages',
};
const NOTE_BYTES = 64;
