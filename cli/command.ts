/**
 * What a command is, and how its command line is read: strictly. A misspelt option, one given twice or one without its
 * value is refused: an option that is silently dropped is a check that is off. What was typed is never repeated in an
 * error, apart from the names of options: it might be a secret that was put in the wrong place.
 */
import { parseArgs } from 'node:util';
import type { DestinationStream } from 'pino';
import { nearest } from '../core-lite/spelling.ts';
import { type ExitStatus, usageError } from './command-error.ts';

/** What a command works with instead of the process, so that tests run it as a user does. */
export interface Io {
  /** Writes one line to standard output. */
  readonly out: (line: string) => void;
  /** Writes one line to standard error. */
  readonly err: (line: string) => void;
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  /** The environment: settings, and the variables that a secret may be taken from. */
  readonly variables: NodeJS.ProcessEnv;
  /** Aborted when the user has had enough. */
  readonly signal: AbortSignal;
  /** Where a service's log goes; standard output if left out. */
  readonly log?: DestinationStream;
}

export interface OptionRule {
  readonly type: 'string' | 'boolean';
  /** May be given more than once. */
  readonly multiple?: true;
  /** What stands for the value in the help text. */
  readonly value?: string;
  /** The only values there are. */
  readonly choices?: readonly string[];
  readonly help: string;
}

type Options = Readonly<Record<string, OptionRule>>;
type ValueOf<Rule extends OptionRule> = Rule['type'] extends 'boolean'
  ? boolean
  : Rule extends { readonly multiple: true }
    ? readonly string[]
    : string;
export type Values<O extends Options> = { readonly [Name in keyof O]?: ValueOf<O[Name]> };
type Arguments<A extends readonly string[]> = {
  readonly [Place in keyof A]: A[Place] extends `[${string}` ? string | undefined : string;
};

interface Definition<A extends readonly string[], O extends Options> {
  /** One word, or a noun and a verb. */
  readonly name: string;
  /** One line without a full stop. */
  readonly summary: string;
  /** What stands behind the name: `NAME`, or `[NAME]` where it may be left out. */
  readonly args: A;
  readonly options: O;
  /** What stands behind `--`, for a command that runs another; without it `--` only ends the options. */
  readonly rest?: string;
  /** Paragraphs of the help text. */
  readonly notes?: readonly string[];
  /** Command lines that work when they are pasted. */
  readonly examples: readonly string[];
  run(
    input: { readonly args: Arguments<A>; readonly options: Values<O>; readonly rest: readonly string[] },
    io: Io,
  ): Promise<ExitStatus>;
}

/** A command whose own types are forgotten, as the list of all commands holds it. */
export interface Command extends Omit<Definition<readonly string[], Options>, 'run'> {
  run(input: Input, io: Io): Promise<ExitStatus>;
}

export interface Input {
  readonly args: readonly (string | undefined)[];
  readonly options: Readonly<Record<string, boolean | string | readonly string[]>>;
  /** What was typed behind `--`, for a command that takes it. */
  readonly rest: readonly string[];
}

export function defineCommand<const A extends readonly string[], const O extends Options>(
  definition: Definition<A, O>,
): Command {
  // `readCommandLine` gives every argument its place and every option the type of its rule.
  return { ...definition, run: (input, io) => definition.run(input as never, io) };
}

/** What was typed behind the command's name, or `help`. Throws a usage error. */
export function readCommandLine(command: Command, words: readonly string[]): Input | 'help' {
  const end = command.rest === undefined ? -1 : words.indexOf('--');
  const { tokens } = parseArgs({
    args: end < 0 ? [...words] : words.slice(0, end),
    options: Object.fromEntries(
      Object.entries(command.options).map(([name, { type }]) => [name, { type }] as const),
    ),
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  if (tokens.some((token) => token.kind === 'option' && (token.name === 'help' || token.name === 'h')))
    return 'help';
  const options: Record<string, boolean | string | readonly string[]> = {};
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    const rule = findRule(command, token.name, token.rawName);
    const value = readValue(command, rule, token);
    const before = options[token.name];
    if (before !== undefined && !rule.multiple) throw wrong(command, `${token.rawName} is given twice`);
    options[token.name] =
      rule.multiple && typeof value === 'string' ? [...(Array.isArray(before) ? before : []), value] : value;
  }
  const args = tokens.filter((token) => token.kind === 'positional').map((token) => token.value);
  const rest = end < 0 ? [] : words.slice(end + 1);
  return { args: placeArguments(command, args), options, rest };
}

/** A usage error of one command: its remedy is the command's own help. */
export function wrong(command: { readonly name: string }, message: string): Error {
  return usageError(message, `see sallyport ${command.name} --help`);
}

interface OptionToken {
  readonly name: string;
  readonly rawName: string;
  readonly value?: string | undefined;
  readonly inlineValue?: boolean | undefined;
}

function findRule(command: Command, name: string, rawName: string): OptionRule {
  const rule = Object.hasOwn(command.options, name) ? command.options[name] : undefined;
  if (rule) return rule;
  const close = nearest(name, [...Object.keys(command.options), 'help']);
  const offer = close ? `, did you mean --${close}?` : '';
  throw wrong(command, `${command.name} has no option ${rawName}${offer}`);
}

function readValue(command: Command, rule: OptionRule, token: OptionToken): string | boolean {
  const { rawName, value, inlineValue } = token;
  if (rule.type === 'boolean') {
    if (value !== undefined) throw wrong(command, `${rawName} takes no value`);
    return true;
  }
  if (value === undefined || value === '') throw wrong(command, `${rawName} needs a value`);
  if (!inlineValue && value.length > 1 && value.startsWith('-')) {
    throw wrong(command, `${rawName} needs a value (one that begins with - is written ${rawName}=-…)`);
  }
  if (rule.choices && !rule.choices.includes(value)) {
    const close = nearest(value, rule.choices);
    const offer = close ? `, did you mean ${close}?` : '';
    throw wrong(command, `${rawName} is one of ${rule.choices.join(', ')}${offer}`);
  }
  return value;
}

function placeArguments(command: Command, given: readonly string[]): readonly (string | undefined)[] {
  const missing = command.args.find((name, place) => given[place] === undefined && !name.startsWith('['));
  if (missing) throw wrong(command, `${command.name} needs ${missing}`);
  if (given.length > command.args.length) {
    const takes = command.args.length === 0 ? 'no argument' : command.args.join(' ');
    const before = command.rest === undefined ? '' : `: ${command.rest} stands behind --`;
    throw wrong(command, `${command.name} takes ${takes} and nothing more${before}`);
  }
  return command.args.map((_, place) => given[place]);
}
