/**
 * One JSON line a call, through pino. An error is logged by an allowlist of fields: never its message, unless it is a
 * Fault of ours, since messages of libraries carry tokens, claims and values.
 */
import { type DestinationStream, type LogFn, type Logger, pino } from 'pino';
import { isFault } from './errors.ts';

export type { Logger } from 'pino';

/** @param destination where lines go; standard output if left out */
export function openLog(service: string, level: string, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: { service, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }), log: describeFields },
    hooks: { logMethod },
  };
  // A write for each line would cost more than the line: they go out together, once a second at least, and at the end.
  return pino(options, destination ?? pino.destination(GATHERED));
}

/** The fields of an error that may be logged: class, code, where it was thrown, and the text of our own faults. */
export function describeError(error: unknown, depth = 0): Record<string, unknown> {
  if (!(error instanceof Error)) return { name: typeof error };
  const { code, constraint, table } = error as { code?: unknown; constraint?: unknown; table?: unknown };
  return {
    name: error.name,
    ...(typeof code === 'string' ? { code } : {}),
    ...(typeof constraint === 'string' ? { constraint } : {}),
    ...(typeof table === 'string' ? { table } : {}),
    ...(isFault(error) ? { what: error.message } : {}),
    at: firstFrames(error),
    // Causes may go in a circle.
    ...(error.cause === undefined || depth === MAX_CAUSES
      ? {}
      : { cause: describeError(error.cause, depth + 1) }),
  };
}

/** The stack begins with the message, which may have lines that look like frames. */
function firstFrames({ stack = '', message }: Error): string[] {
  const frames = stack.slice(Math.max(0, stack.indexOf(message)) + message.length).split('\n');
  return frames
    .filter((line) => FRAME.test(line))
    .slice(0, 3)
    .map((line) => line.trim().slice(3));
}

/**
 * What a line says of its fields. An error is described under whatever name it is logged, since its own fields hold rows
 * and claims. Names that hold secrets are censored at any depth: a second net, for no code of ours logs them.
 */
function describeFields(fields: object, depth = 0): Record<string, unknown> {
  // Almost every line is such a one: it need not be made anew.
  if (saysNoMore(fields)) return fields;
  const described: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (CENSORED.has(name)) described[name] = '[secret]';
    else if (typeof value !== 'object' && name !== 'err' && name !== 'error') described[name] = value;
    else described[name] = describeValue(name, value, depth);
  }
  return described;
}

/** Whether no field is one that is described otherwise than it is. */
function saysNoMore(fields: object): fields is Record<string, unknown> {
  if (!isPlainObject(fields)) return false;
  const values = fields as Record<string, unknown>;
  return Object.keys(values).every((name) => {
    const value = values[name];
    const isFlat = typeof value !== 'object' || value === null;
    return isFlat && !CENSORED.has(name) && name !== 'err' && name !== 'error';
  });
}

function describeValue(name: string, value: unknown, depth: number): unknown {
  if (value instanceof Error || name === 'err' || name === 'error') return describeError(value);
  if (!isPlainObject(value)) return value;
  return depth < MAX_DEPTH ? describeFields(value, depth + 1) : '[deep]';
}

function isPlainObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** Where a line is given no text, pino takes the error's message for it: here it never does. */
function logMethod(this: Logger, args: Parameters<LogFn>, method: LogFn): void {
  const [first, text = '', ...rest] = args as unknown[];
  if (typeof first === 'object') method.call(this, first, String(text), ...rest);
  else method.apply(this, args);
}

const MAX_CAUSES = 5;
const FRAME = /^ {4}at \S.*:\d+:\d+\)?$/;

const MAX_DEPTH = 4;
const CENSORED: ReadonlySet<string> = new Set([
  'authorization',
  'proxy-authorization',
  'token',
  'secret',
  'password',
]);
const GATHERED = { dest: 1, sync: false, minLength: 4096, periodicFlush: 1_000 } as const;
