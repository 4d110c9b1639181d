/** Changes to a body that leave every other byte as it came. */
import type { Span } from './json-bytes.ts';

/** Other text in the place of some bytes; an empty span is a place between two. */
export interface Edit {
  readonly span: Span;
  readonly text: string;
}

/** @param edits none within another; the very same body where there are none */
export function applyEdits(body: Buffer, edits: readonly Edit[]): Buffer {
  if (edits.length === 0) return body;
  const parts: Buffer[] = [];
  let at = 0;
  for (const { span, text } of edits.toSorted((a, b) => a.span[0] - b.span[0])) {
    parts.push(body.subarray(at, span[0]), Buffer.from(text));
    at = span[1];
  }
  return Buffer.concat([...parts, body.subarray(at)]);
}
