/** Calls core's admin API for the commands. The admin key and the values of secrets leave here and nowhere else. */
import { readConfig } from '../core-lite/config.ts';
import { Fault, type FaultCode } from '../core-lite/errors.ts';
import { Secret } from '../core-lite/secret.ts';
import type { Io } from './command.ts';
import { CommandError, usageError } from './command-error.ts';
import { findAdminKey, findCoreUrl } from './home.ts';

export interface Api {
  /**
   * The answer's JSON, `null` where it has none. A `Secret` in the body is sent as its value. Rejects with Fault
   * `core_unreachable`, or with CommandError that repeats what core said.
   */
  call<T>(method: string, path: string, body?: unknown): Promise<T>;
}

/** The API that the settings name, with the admin key. */
export async function openApi(io: Io): Promise<Api> {
  const config = readConfig(io.variables);
  const base = await findCoreUrl(config, io.variables);
  const { key, where } = await findAdminKey(config);
  if (!/^[!-~]+$/.test(key.reveal()))
    throw new CommandError(`${where} holds no admin key`, 'let it hold the key and nothing else');
  return {
    call: async <T>(method: string, path: string, body?: unknown): Promise<T> => {
      const answer = await send(base, path, {
        method,
        redirect: 'error',
        signal: AbortSignal.any([io.signal, AbortSignal.timeout(LIMIT_MS)]),
        headers: {
          authorization: `Bearer ${key.reveal()}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: stringify(body) }),
      });
      if (answer.status === 401) throw refusedKey(base, where);
      if (answer.status >= 300) throw refused(base, answer);
      // What core answers has the shape of its schema; both are of one version.
      return (answer.text === '' ? null : JSON.parse(answer.text)) as T;
    },
  };
}

/** A path with what was typed in its place: `` path`/v1/environments/${name}` ``. */
export function path(texts: TemplateStringsArray, ...values: readonly string[]): string {
  // A URL would take them for steps in its path, in every spelling.
  if (values.some((value) => value === '.' || value === '..'))
    throw usageError('a name has letters or digits', 'see sallyport --help');
  return texts.reduce((whole, text, place) => whole + encodeURIComponent(values[place - 1] ?? '') + text);
}

/** The given fields as a query, beginning with its `?`; empty where there are none. */
export function query(fields: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as [string, string]],
  );
  return given.length > 0 ? `?${new URLSearchParams(given)}` : '';
}

/** Whether `error` is core's refusal with this code. */
export function isRefusal(error: unknown, code: FaultCode): boolean {
  return error instanceof CoreRefusal && error.code === code;
}

/** What core said no to, in its own words. */
class CoreRefusal extends CommandError {
  readonly code: string;

  constructor(message: string, code: string) {
    super(message, null);
    this.code = code;
  }
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

async function send(base: string, target: string, request: RequestInit): Promise<Answer> {
  try {
    const answer = await fetch(base + target, request);
    return { status: answer.status, text: await answer.text() };
  } catch (error) {
    const slow = error instanceof Error && error.name === 'TimeoutError';
    const what = slow ? `core at ${base} does not answer` : `core cannot be reached at ${base}`;
    throw new Fault('core_unreachable', what, error);
  }
}

/** As JSON, each `Secret` as its value: for a body that is sent now. */
export function stringify(body: unknown): string {
  return JSON.stringify(body, function (this: Record<string, unknown>, name: string, value: unknown) {
    // `value` is what a secret's own toJSON made of it.
    const original = this[name];
    return original instanceof Secret ? original.reveal() : value;
  });
}

function refusedKey(base: string, where: string): CommandError {
  return new CommandError(
    `core at ${base} does not accept the admin key of ${where}`,
    'set SALLYPORT_ADMIN_KEY_FILE to the key that this installation was set up with',
  );
}

/** Core's own words: what is wrong and what to do. */
function refused(base: string, { status, text }: Answer): CommandError {
  const read = readError(text);
  if (read) return new CoreRefusal(read.message, read.code);
  return new CommandError(`${base} answered ${status}`, 'check that SALLYPORT_CORE_URL names core');
}

function readError(text: string): { readonly message: string; readonly code: string } | null {
  try {
    const { error } = JSON.parse(text) as { error?: { message?: unknown; code?: unknown } };
    return typeof error?.message === 'string' ? { message: error.message, code: String(error.code) } : null;
  } catch {
    return null;
  }
}

const LIMIT_MS = 15_000;
