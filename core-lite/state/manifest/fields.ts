/**
 * How the fields of a manifest are read, each strictly: what is not exactly of the form is Fault `input_invalid`, with
 * where it stands. No text of the input is repeated but names that were judged.
 */
import { Fault } from '../../errors.ts';

/** An object of fields that are all known: a misspelt one would be a limit that is off. */
export function parseFields(
  where: string,
  input: unknown,
  known: readonly string[],
): Readonly<Record<string, unknown>> {
  if (!isObject(input)) throw invalid(where, 'is not an object');
  if (Object.keys(input).some((name) => !known.includes(name))) {
    throw invalid(where, `has a field beside ${known.join(', ')}`);
  }
  return input;
}

/** Entries by their names, without a prototype, so that no name finds what nobody declared. */
export function parseEntries<T>(
  where: string,
  input: unknown,
  names: { readonly pattern: RegExp; readonly are: string; readonly entries: string },
  parse: (where: string, input: unknown) => T,
): Readonly<Record<string, T>> {
  if (!isObject(input)) throw invalid(where, 'is not an object');
  const entries = Object.entries(input);
  if (entries.length > MAX_ENTRIES) throw invalid(where, `has more than ${MAX_ENTRIES} ${names.entries}`);
  return withoutPrototype(
    Object.fromEntries(
      entries.map(([name, value]) => {
        // The name is not repeated: it may be anything.
        if (!names.pattern.test(name) || name in {})
          throw invalid(where, `has a name that is not ${names.are}`);
        return [name, parse(`${where}.${name}`, value)];
      }),
    ),
  );
}

/** Texts of one pattern, each once. */
export function parseTexts(
  where: string,
  input: unknown,
  { pattern, is, are }: { readonly pattern: RegExp; readonly is: string; readonly are: string },
): readonly string[] {
  if (!Array.isArray(input)) throw invalid(where, `is not a list of ${are}`);
  if (input.length > MAX_ENTRIES) throw invalid(where, `has more than ${MAX_ENTRIES} ${are}`);
  const seen = new Set<string>();
  for (const [place, text] of input.entries()) {
    if (typeof text !== 'string' || !pattern.test(text)) throw invalid(`${where}[${place}]`, `is not ${is}`);
    if (seen.has(text)) throw invalid(`${where}[${place}]`, 'is named twice');
    seen.add(text);
  }
  return [...seen];
}

export function parseChoice<T extends string>(where: string, input: unknown, choices: readonly T[]): T {
  const choice = choices.find((each) => each === input);
  if (choice === undefined) throw invalid(where, `is not one of ${choices.join(', ')}`);
  return choice;
}

export function parseFlag(where: string, input: unknown): boolean {
  if (typeof input !== 'boolean') throw invalid(where, 'is not true or false');
  return input;
}

/** A whole number from 1. */
export function parseCount(where: string, input: unknown, most: number): number {
  const whole = typeof input === 'number' && Number.isInteger(input) && input >= 1 && input <= most;
  if (!whole) throw invalid(where, `is not a whole number from 1 to ${most}`);
  return input;
}

/** `vault/name`, or `null` for none. */
export function parseCredentialName(where: string, input: unknown): string | null {
  if (input === null) return null;
  if (typeof input === 'string' && CREDENTIAL_NAME.test(input)) return input;
  throw invalid(where, 'is not vault/name');
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function withoutPrototype<T>(record: Readonly<Record<string, T>>): Readonly<Record<string, T>> {
  return Object.assign(Object.create(null), record);
}

export function invalid(where: string, what: string): Fault {
  return new Fault('input_invalid', `${where} ${what}`);
}

const NAME = '[a-z0-9](?:[a-z0-9._-]{0,61}[a-z0-9])?';
const CREDENTIAL_NAME = new RegExp(`^${NAME}/${NAME}$`);
const MAX_ENTRIES = 200;
