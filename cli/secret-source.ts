/**
 * Where the value of a secret comes from: a file, an environment variable or standard input, never the command line,
 * which every user of the machine can read. The value is read here and goes on as a `Secret`.
 */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { Secret } from '../core-lite/secret.ts';
import type { Io, OptionRule } from './command.ts';
import { CommandError, usageError } from './command-error.ts';

/** The options of a command that takes secrets. */
export const SECRET_OPTIONS = {
  'from-file': { type: 'string', value: 'FILE', help: 'the file that holds the value' },
  'from-env': { type: 'string', value: 'VARIABLE', help: 'the environment variable that holds the value' },
  secret: {
    type: 'string',
    multiple: true,
    value: 'PART=SOURCE',
    help: 'one part of several; SOURCE is file:PATH, env:VARIABLE or - for standard input',
  },
} as const satisfies Readonly<Record<string, OptionRule>>;

/** What the options say, before anything is read. */
export interface SecretSource {
  readonly part: string;
  readonly from: 'file' | 'variable' | 'stdin';
  /** The path or the variable. */
  readonly name: string;
}

/** Throws a usage error. Without any option it is the part `value`, from standard input. */
export function planSecrets(options: {
  readonly 'from-file'?: string;
  readonly 'from-env'?: string;
  readonly secret?: readonly string[];
}): readonly SecretSource[] {
  const { 'from-file': file, 'from-env': variable, secret = [] } = options;
  const sources = [
    ...(file === undefined ? [] : [readSource('value', file === '-' ? '-' : `file:${file}`)]),
    ...(variable === undefined ? [] : [readSource('value', `env:${variable}`)]),
    ...secret.map(parseSecretOption),
  ];
  const planned = sources.length > 0 ? sources : [readSource('value', '-')];
  const parts = planned.map(({ part }) => part);
  const twice = parts.find((part, place) => parts.indexOf(part) !== place);
  if (twice !== undefined) throw usageError(`the secret part "${twice}" is given twice`, HINT);
  if (planned.filter(({ from }) => from === 'stdin').length > 1)
    throw usageError('only one part can come from standard input', HINT);
  return planned;
}

/** Reads every part. One line end at the end of a file or of standard input is not part of the value. */
export async function readSecrets(
  sources: readonly SecretSource[],
  io: Io,
): Promise<Readonly<Record<string, Secret>>> {
  const parts: [string, Secret][] = [];
  for (const source of sources) parts.push([source.part, new Secret(await readText(source, io))]);
  return Object.fromEntries(parts);
}

/** The text of a file, or of standard input for `-`. Rejects with CommandError; 1 MiB at most. */
export function readInput(file: string, io: Io): Promise<string> {
  return file === '-'
    ? readStream(io.stdin, 'standard input')
    : readStream(createReadStream(file, { signal: io.signal }), file);
}

async function readText({ part, from, name }: SecretSource, io: Io): Promise<string> {
  if (from === 'variable') {
    const value = io.variables[name];
    if (!value) throw new CommandError(`the environment variable ${name} is not set`, 'set and export it');
    return value;
  }
  if (from === 'stdin' && io.stdin.isTTY) return await ask(part, io);
  return (await readInput(from === 'stdin' ? '-' : name, io)).replace(/\r?\n$/, '');
}

async function readStream(stream: AsyncIterable<string | Buffer>, name: string): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of stream) {
      chunks.push(Buffer.from(chunk));
      bytes += chunk.length;
      if (bytes > MAX_BYTES) throw new CommandError(`${name} is too large`, 'name the right file');
    }
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch (error) {
    if (error instanceof CommandError) throw error;
    const code = (error as { code?: unknown }).code;
    const why = code === 'ENOENT' ? 'does not exist' : `cannot be read as text (${code})`;
    throw new CommandError(`${name} ${why}`, 'name a readable file');
  }
}

/** One line from the terminal, in raw mode, so that it is not shown. */
async function ask(part: string, io: Io): Promise<string> {
  io.err(`Type the ${part === 'value' ? 'value' : `part "${part}"`} and end it with Enter; it is not shown.`);
  const silence = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input: io.stdin, output: silence, terminal: true });
  const leaving = new AbortController();
  for (const event of ['SIGINT', 'close'] as const) terminal.once(event, () => leaving.abort());
  try {
    return await terminal.question('', { signal: AbortSignal.any([leaving.signal, io.signal]) });
  } catch {
    throw new CommandError('no value was typed', 'nothing was changed');
  } finally {
    terminal.close();
  }
}

function parseSecretOption(text: string): SecretSource {
  const split = text.indexOf('=');
  const source = text.slice(split + 1);
  if (split < 1 || !/^(-|(file|env):.+)$/s.test(source)) {
    const what = '--secret is PART=file:PATH, PART=env:VARIABLE or PART=-';
    throw usageError(what, 'a value itself is never taken from the command line');
  }
  return readSource(text.slice(0, split), source);
}

/** @param source `-`, `file:PATH` or `env:VARIABLE` */
function readSource(part: string, source: string): SecretSource {
  if (source === '-') return { part, from: 'stdin', name: '' };
  const [, kind, name = ''] = /^(file|env):(.*)$/s.exec(source) ?? [];
  return { part, from: kind === 'file' ? 'file' : 'variable', name };
}

const HINT = 'see sallyport credential put --help';
/** Far above the longest secret: core says exactly how long one may be. */
const MAX_BYTES = 1024 * 1024;
