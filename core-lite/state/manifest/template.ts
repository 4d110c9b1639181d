/**
 * A text of a manifest with fields of a tool's input in it: `{name}` stands for one, `{{` and `}}` for braces. What a
 * field's value may be depends on where the text goes: whoever fills it says so.
 */

/** A text as it is, or the name of the field that stands there. */
export type Piece = string | { readonly field: string };

/** The pieces of a text, or `null` where a brace is neither a field's nor doubled. */
export function parseTemplate(text: string): readonly Piece[] | null {
  const pieces: Piece[] = [];
  let at = 0;
  for (const { 0: mark, index, groups } of text.matchAll(MARK)) {
    if (index > at) pieces.push(text.slice(at, index));
    at = index + mark.length;
    const field = groups?.['field'];
    if (field !== undefined) pieces.push({ field });
    else if (mark.length === 2) pieces.push(mark.slice(1));
    else return null;
  }
  if (at < text.length) pieces.push(text.slice(at));
  return pieces;
}

/** Its texts and what `fill` makes of its fields in one; `null` as soon as that is `null` for one. */
export function fillTemplate(
  pieces: readonly Piece[],
  fill: (field: string) => string | null,
): string | null {
  let text = '';
  for (const piece of pieces) {
    const filled = typeof piece === 'string' ? piece : fill(piece.field);
    if (filled === null) return null;
    text += filled;
  }
  return text;
}

export function fieldsOf(pieces: readonly Piece[]): string[] {
  return pieces.flatMap((piece) => (typeof piece === 'string' ? [] : [piece.field]));
}

const MARK = /\{(?<field>[A-Za-z0-9_-]{1,64})\}|\{\{|\}\}|[{}]/g;
