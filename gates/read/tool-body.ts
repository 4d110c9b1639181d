/** Fills the body that a manifest declares for a tool: a form of JSON in whose texts fields of the input stand. */
import { fillTemplate, parseTemplate } from '../../core-lite/state/manifest/template.ts';

/**
 * A text that is one field alone becomes its value, of whatever type; in a longer one, what is no text stands as JSON.
 * What a missing field stands in is left out, from an object and from a list.
 * @param read a field's value; `undefined` where it is missing
 */
export function fillBody(form: Readonly<Record<string, unknown>>, read: (field: string) => unknown): unknown {
  return fillValue(form, read);
}

function fillValue(form: unknown, read: (field: string) => unknown): unknown {
  if (typeof form === 'string') return fillText(form, read);
  if (typeof form !== 'object' || form === null) return form;
  if (Array.isArray(form)) return form.map((each) => fillValue(each, read)).filter(isThere);
  const entries = Object.entries(form).map(([name, each]) => [name, fillValue(each, read)] as const);
  return Object.fromEntries(entries.filter(([, value]) => isThere(value)));
}

function fillText(form: string, read: (field: string) => unknown): unknown {
  const pieces = parseTemplate(form) ?? [form];
  const [first] = pieces;
  if (pieces.length === 1 && typeof first === 'object') return read(first.field);
  const filled = fillTemplate(pieces, (field) => {
    const value = read(field);
    if (value === undefined) return null;
    return typeof value === 'string' ? value : JSON.stringify(value);
  });
  return filled ?? undefined;
}

function isThere(value: unknown): boolean {
  return value !== undefined;
}
