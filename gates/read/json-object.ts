/**
 * Reads a body that is one JSON object, in UTF-8, of bounded depth. What is sent to a tool is written anew from what was
 * read, so that a schema judged the very values that leave: numbers that would change by it are refused, and so is a key
 * that would reach an object's prototype.
 */
import { isTooDeep, MAX_DEPTH } from '../json-depth.ts';

/** The object, or one line on what is wrong with the body. */
export function readObject(body: Buffer): { readonly value: Readonly<Record<string, unknown>> } | string {
  const text = decode(body);
  if (text === null) return 'the body is not UTF-8';
  if (isTooDeep(text)) return `the body is nested deeper than ${MAX_DEPTH}`;
  const parsed = parse(text);
  if (typeof parsed === 'string') return parsed;
  const { value } = parsed;
  return isObject(value) ? { value } : 'the body is not a JSON object';
}

function decode(body: Buffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    return null;
  }
}

function parse(text: string): { readonly value: unknown } | string {
  let fault: string | null = null;
  try {
    const value: unknown = JSON.parse(text, (name: string, each: unknown, context?: { source?: string }) => {
      fault ??= faultOf(name, each, context?.source);
      return each;
    });
    return fault ?? { value };
  } catch {
    return 'the body is not JSON';
  }
}

function faultOf(name: string, value: unknown, source: string | undefined): string | null {
  if (name === '__proto__') return 'a key is named __proto__';
  if (name === 'constructor' && isObject(value) && Object.hasOwn(value, 'prototype')) {
    return 'a key is named constructor and holds a prototype';
  }
  if (typeof value !== 'number') return null;
  const whole = source !== undefined && /^-?\d+$/.test(source);
  const changed = !Number.isFinite(value) || (whole && !Number.isSafeInteger(value));
  return changed ? 'a number is too large to be kept as it is; send it as text' : null;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
