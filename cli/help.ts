/** Help texts: of everything, of a noun, of a command. They are made from the commands, so none is left out. */
import { VERSION } from '../core-lite/version.ts';
import type { Command, OptionRule } from './command.ts';
import { formatTable } from './table.ts';

export function describeAll(commands: readonly Command[]): string[] {
  return [
    `sallyport ${VERSION}: the gate for AI agents in egress-restricted pods`,
    '',
    'usage: sallyport COMMAND …',
    '',
    ...listCommands(commands),
    '',
    'Every command shows its options with --help: npx sallyport env put --help',
    'Settings come from the environment; npx sallyport config lists them.',
    'Exit status: 0 done, 1 failed or denied, 2 typed wrongly.',
    '',
    'example:',
    '  npx sallyport env put demo --allow example.com',
  ];
}

export function describeNoun(noun: string, commands: readonly Command[]): string[] {
  const examples = commands.map((command) => command.examples[0] ?? '');
  return [
    `usage: sallyport ${noun} VERB …`,
    '',
    ...listCommands(commands),
    '',
    ...describeExamples(examples),
  ];
}

export function describeCommand(command: Command): string[] {
  const options = Object.entries(command.options);
  const words = [
    'sallyport',
    command.name,
    ...command.args,
    ...(options.length > 0 ? ['[OPTIONS]'] : []),
    ...(command.rest === undefined ? [] : ['--', command.rest]),
  ];
  const rows = [...options.map(([name, rule]) => optionRow(name, rule)), ['  --help', 'shows this text']];
  return [
    `usage: ${words.join(' ')}`,
    '',
    command.summary,
    ...(command.notes ?? []).flatMap((note) => ['', ...wrap(note)]),
    '',
    'options:',
    ...formatTable(rows),
    '',
    ...describeExamples(command.examples),
  ];
}

function listCommands(commands: readonly Command[]): string[] {
  return formatTable(commands.map(({ name, args, summary }) => [`  ${[name, ...args].join(' ')}`, summary]));
}

function optionRow(name: string, rule: OptionRule): string[] {
  const value = rule.choices?.join('|') ?? rule.value ?? 'TEXT';
  const shown = rule.type === 'boolean' ? '' : ` ${value}`;
  return [`  --${name}${shown}`, rule.multiple ? `${rule.help}; may be given more than once` : rule.help];
}

function describeExamples(examples: readonly string[]): string[] {
  return ['example:', ...examples.map((line) => `  ${line}`)];
}

/** Breaks a paragraph into lines of a terminal. */
function wrap(paragraph: string): string[] {
  const lines: string[] = [];
  for (const word of paragraph.split(' ')) {
    const line = lines.at(-1);
    if (line === undefined || line.length + word.length >= LINE_CHARS) lines.push(word);
    else lines[lines.length - 1] = `${line} ${word}`;
  }
  return lines;
}

const LINE_CHARS = 100;
