/** The values of an input as text, each type in one spelling. */

export type ToolInput = Readonly<Record<string, unknown>>;

/** `undefined` where the field is missing: what every object has by inheritance is none. */
export function readField(input: ToolInput, field: string): unknown {
  return Object.hasOwn(input, field) ? input[field] : undefined;
}

/** A text, a number or a truth; `null` where it is none of them, or missing. */
export function plainText(value: unknown): string | null {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : null;
}

/** What is no text, as JSON; `null` where it is missing. */
export function anyText(value: unknown): string | null {
  if (value === undefined) return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** RFC 3986 2.3: all but the unreserved characters, whoever takes the others for marks. */
export function encodePart(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
