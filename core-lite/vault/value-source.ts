/**
 * Where the value of an environment secret comes from when it is not in the vault: a file or a variable where egress
 * runs, as it is named in the credential. What egress opens of these is the operator's to set, never an admin's.
 */
import { Fault } from '../errors.ts';

export interface ValueSource {
  readonly kind: 'env' | 'file';
  /** A variable, or a path below SALLYPORT_SECRET_FOLDER. */
  readonly name: string;
}

/** Throws Fault `input_invalid`. @returns the text itself, which is what is stored */
export function checkValueSource(text: string): string {
  if (readValueSource(text)) return text;
  // The text is not repeated: it may be the secret itself, put in the wrong place.
  throw new Fault(
    'input_invalid',
    'the source of a value is env:NAME, or file:PATH with a path below SALLYPORT_SECRET_FOLDER without .. segments',
  );
}

/** @returns `null` where it is none */
export function readValueSource(text: string): ValueSource | null {
  const [, kind, name = ''] = /^(env|file):(.*)$/s.exec(text) ?? [];
  if (kind === 'env') return isVariableName(name) ? { kind, name } : null;
  if (kind !== 'file' || name.length > MAX_PATH_CHARS) return null;
  return name.split('/').every((segment) => SEGMENT.test(segment)) ? { kind, name } : null;
}

export function isVariableName(text: string): boolean {
  return VARIABLE.test(text);
}

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;
/** Not `.` and not `..`. */
const SEGMENT = /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,128}$/;
const MAX_PATH_CHARS = 512;
