/**
 * One JSON line a call, through pino. An error is logged by an allowlist of fields: never its message, unless it is a
 * Fault of ours, since messages of libraries carry tokens, claims and values.
 */
import { type DestinationStream, type Logger, pino } from 'pino';
import { isFault } from './errors.ts';

export type { Logger } from 'pino';

/** @param destination where lines go; standard output if left out */
export function openLog(service: string, level: string, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: { service, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: REDACTED, censor: '[secret]' },
    serializers: { err: describeError, error: describeError },
    formatters: { level: (label: string) => ({ level: label }) },
  };
  return destination ? pino(options, destination) : pino(options);
}

/** The fields of an error that may be logged: class, code, where it was thrown, and the text of our own faults. */
export function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { name: typeof error };
  const { code, constraint, table } = error as { code?: unknown; constraint?: unknown; table?: unknown };
  return {
    name: error.name,
    ...(typeof code === 'string' ? { code } : {}),
    ...(typeof constraint === 'string' ? { constraint } : {}),
    ...(typeof table === 'string' ? { table } : {}),
    ...(isFault(error) ? { what: error.message } : {}),
    at: firstFrames(error),
    ...(error.cause === undefined ? {} : { cause: describeError(error.cause) }),
  };
}

function firstFrames(error: Error): string[] {
  const frames = (error.stack ?? '').split('\n').filter((line) => line.startsWith('    at '));
  return frames.slice(0, 3).map((line) => line.trim().slice(3));
}

// A second net: no code of ours logs headers, but whoever adds a line one day must not leak by it.
const REDACTED = [
  'headers.authorization',
  'headers["proxy-authorization"]',
  '*.headers.authorization',
  '*.headers["proxy-authorization"]',
  'token',
  'secret',
  'password',
  '*.token',
  '*.secret',
  '*.password',
];
