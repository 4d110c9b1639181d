/** Shapes that several routes share. */
import { Type } from 'typebox';
import { Fault } from '../errors.ts';

const NAME = '^[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?$';
/** The name of a vault, a credential, an environment: it stands in paths and on command lines. */
export const Name = Type.String({ pattern: NAME });

/** A moment; JSON has it as RFC 3339. */
export const Moment = Type.Unsafe<Date | string>({ type: 'string', format: 'date-time' });

/** One host pattern. What it must look like is judged where it is parsed, which can say more. */
export const HostText = Type.String({ minLength: 1, maxLength: 300 });

/** What does not fit a pattern, in words. */
export function describeMisfit(pattern: unknown): string {
  if (pattern === NAME)
    return 'is no name: lower-case letters, digits, dots, dashes and underscores, at most 63, a letter or digit at each end';
  const prefix = /^\^([a-z]{3})_\[0-9a-f\]\{32\}\$$/.exec(String(pattern))?.[1];
  return prefix ? `is no id like ${prefix}_0123…, as the lists show them` : `does not match ${pattern}`;
}

export const SessionId = Type.String({ pattern: '^ses_[0-9a-f]{32}$' });
export const TurnId = Type.String({ pattern: '^trn_[0-9a-f]{32}$' });

/** A lease epoch, as a caller names the one that it holds. */
export const LeaseEpoch = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** How many rows a page has. */
export const Limit = Type.Integer({ minimum: 1, maximum: 1000, default: 100 });

/** A list of texts that is only read. */
export const Texts = Type.Unsafe<readonly string[]>({ type: 'array', items: { type: 'string' } });

export const Nothing = Type.Null({ description: 'done' });

/** `T`, or null. */
export function nullable<T extends Parameters<typeof Type.Union>[0][number]>(schema: T) {
  return Type.Union([schema, Type.Null()]);
}

/** A moment that a caller gave. Throws Fault `input_invalid`. @param name what it is called there */
export function parseMoment(name: string, text: string): Date {
  const moment = new Date(text);
  const year = moment.getUTCFullYear();
  // Not a time, or one that PostgreSQL does not hold.
  if (!(year >= 1 && year <= 9999))
    throw new Fault('input_invalid', `${name} is not a time such as 2026-01-31T12:00:00Z`);
  return moment;
}
