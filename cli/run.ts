/**
 * Finds the command that was typed and runs it. Whatever goes wrong ends as one line on standard error and an exit
 * status: no stack trace, no half sentence of a library.
 */
import { nearest } from '../core-lite/spelling.ts';
import { VERSION } from '../core-lite/version.ts';
import { COMMANDS } from './catalogue.ts';
import { type Command, type Io, readCommandLine } from './command.ts';
import { describeFailure, EXIT, type ExitStatus, usageError } from './command-error.ts';
import { describeAll, describeCommand, describeNoun } from './help.ts';

/** @param words what was typed behind `sallyport`. Never rejects. */
export async function runCommand(words: readonly string[], io: Io): Promise<ExitStatus> {
  try {
    return await dispatch(words, io);
  } catch (error) {
    if (io.signal.aborted) return EXIT.interrupted;
    const { line, status } = describeFailure(error);
    io.err(line);
    return status;
  }
}

async function dispatch(words: readonly string[], io: Io): Promise<ExitStatus> {
  const [first, second] = words;
  if (first === undefined || HELP.has(first)) return show(io, describeTopic(words.slice(1)));
  if (first === '--version') return show(io, [VERSION]);
  const command = find(`${first} ${second}`) ?? find(first);
  if (command) {
    const input = readCommandLine(command, words.slice(command.name.split(' ').length));
    return input === 'help' ? show(io, describeCommand(command)) : await command.run(input, io);
  }
  const ofNoun = commandsOf(first);
  if (ofNoun.length === 0) throw unknown(first);
  if (second !== undefined && HELP.has(second)) return show(io, describeNoun(first, ofNoun));
  throw unknownVerb(first, second, ofNoun);
}

function describeTopic(topic: readonly string[]): string[] {
  const [first, second] = topic;
  if (first === undefined) return describeAll(COMMANDS);
  const command = find(`${first} ${second}`) ?? find(first);
  if (command) return describeCommand(command);
  const ofNoun = commandsOf(first);
  if (ofNoun.length === 0) throw unknown(first);
  return describeNoun(first, ofNoun);
}

function find(name: string): Command | undefined {
  return COMMANDS.find((command) => command.name === name);
}

function commandsOf(noun: string): readonly Command[] {
  return COMMANDS.filter((command) => command.name.startsWith(`${noun} `));
}

function unknown(word: string): Error {
  const close = nearest(
    word,
    COMMANDS.map((command) => command.name.split(' ')[0] ?? ''),
  );
  const what = word.startsWith('-') ? 'a command comes first' : `there is no command ${JSON.stringify(word)}`;
  return usageError(`${what}${close ? `, did you mean ${close}?` : ''}`, 'see sallyport --help');
}

function unknownVerb(noun: string, verb: string | undefined, commands: readonly Command[]): Error {
  const verbs = commands.map((command) => command.name.slice(noun.length + 1));
  const close = verb === undefined ? null : nearest(verb, verbs);
  const offer = close ? `, did you mean ${close}?` : `: ${verbs.join(', ')}`;
  return usageError(`${noun} needs a verb${offer}`, `see sallyport ${noun} --help`);
}

function show(io: Io, lines: readonly string[]): ExitStatus {
  for (const line of lines) io.out(line);
  return EXIT.done;
}

const HELP: ReadonlySet<string> = new Set(['help', '--help', '-h']);
