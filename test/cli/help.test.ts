/** Help texts, and command lines that are typed wrongly: nothing here reaches a service. */
import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../../cli/catalogue.ts';
import { readCommandLine } from '../../cli/command.ts';
import { VERSION } from '../../core-lite/version.ts';
import { sallyport } from './sallyport.ts';

describe('help', () => {
  it('lists every command', async () => {
    for (const words of [[], ['--help'], ['help'], ['-h']]) {
      const { status, out } = await sallyport(words);
      expect(status).toBe(0);
      for (const { name } of COMMANDS) expect(out.some((line) => line.startsWith(`  ${name} `))).toBe(true);
    }
  });

  it.each(COMMANDS)('of $name has an example that can be typed, and every option', async (command) => {
    const words = command.name.split(' ');
    const { status, out } = await sallyport([...words, '--help']);
    expect(status).toBe(0);
    expect(out).toEqual((await sallyport(['help', ...words])).out);
    expect(out).toContain('example:');
    for (const option of Object.keys(command.options)) {
      expect(out.some((line) => line.startsWith(`  --${option} `))).toBe(true);
    }
    for (const example of command.examples) {
      expect(out).toContain(`  ${example}`);
      const typed = wordsOf(example);
      expect(typed.slice(0, words.length)).toEqual(words);
      expect(readCommandLine(command, typed.slice(words.length))).not.toBe('help');
    }
  });

  it('of a noun lists its verbs', async () => {
    for (const words of [
      ['env', '--help'],
      ['help', 'env'],
    ]) {
      const { status, out } = await sallyport(words);
      expect(status).toBe(0);
      for (const verb of ['put', 'get', 'list', 'rm'])
        expect(out.some((line) => line.includes(`env ${verb}`))).toBe(true);
    }
  });

  it('of a command stands before what else is wrong', async () => {
    expect((await sallyport(['env', 'put', '--help', '--nonsense'])).status).toBe(0);
  });

  it('tells the version', async () => {
    expect((await sallyport(['--version'])).out).toEqual([VERSION]);
  });
});

describe('a command line that is typed wrongly', () => {
  it.each([
    { typed: 'conections', says: 'did you mean connections?' },
    { typed: 'frobnicate', says: 'there is no command "frobnicate"; see sallyport --help' },
    { typed: 'help frobnicate', says: 'there is no command' },
    { typed: '--json', says: 'a command comes first' },
    { typed: 'env', says: 'env needs a verb: put, get, list, rm' },
    { typed: 'env lits', says: 'did you mean list?' },
    { typed: 'env put', says: 'env put needs NAME' },
    { typed: 'env put a b', says: 'env put takes NAME and nothing more' },
    { typed: 'env list a', says: 'env list takes no argument and nothing more' },
    { typed: 'env put a --alow b', says: 'no option --alow, did you mean --allow?' },
    { typed: 'env put a --constructor b', says: 'no option --constructor' },
    { typed: 'env put a -x', says: 'no option -x' },
    { typed: 'env put a --allow', says: '--allow needs a value' },
    { typed: 'env put a --allow=', says: '--allow needs a value' },
    { typed: 'env put a --allow --json', says: '--allow needs a value' },
    { typed: 'env put a --json=yes', says: '--json takes no value' },
    { typed: 'env put a --mode repart', says: 'one of enforce, report, did you mean report?' },
    { typed: 'env put a --mode report --mode report', says: '--mode is given twice' },
    { typed: 'env put a --no-json', says: 'no option --no-json' },
    { typed: 'connections --limit 0', says: '--limit is not a number' },
    { typed: 'connections --since yesterday', says: '--since is not like' },
    { typed: 'connections --refusals --follow', says: '--follow does not go with it' },
    { typed: 'connections --refusals --limit 1001', says: '--refusals shows 1000 at most' },
    { typed: 'admin-events --limit 1001', says: '--limit is not a number from 1 to 1000' },
    { typed: 'explain a.test', says: 'explain needs --env' },
    { typed: 'token egress', says: 'token egress needs --env' },
    { typed: 'credential put a --kind bearer --host a.test', says: 'named VAULT/NAME' },
    { typed: 'credential put a/b/c --kind bearer --host a.test', says: 'named VAULT/NAME' },
    { typed: 'credential put a/b --kind bearer', says: 'needs --kind and at least one --host' },
    { typed: 'credential put a/b --kind headers --host a.test', says: 'the parts of headers are named' },
    { typed: 'keys export-class egres', says: 'did you mean egress?' },
  ])('is refused: $typed', async ({ typed, says }) => {
    const { status, out, err } = await sallyport(typed.split(' '));
    expect(status).toBe(2);
    expect(out).toEqual([]);
    expect(err).toHaveLength(1);
    expect(err[0]).toContain(says);
    expect(err[0]).toMatch(/^sallyport: [^\n]+; see sallyport [^\n]*--help$/);
  });

  it('is not repeated: it may hold a secret', async () => {
    for (const typed of [
      ['credential', 'put', 'a/b', 'hunter2-hunter2', '--kind', 'bearer', '--host', 'a.test'],
      [
        'credential',
        'put',
        'a/b',
        '--kind',
        'bearer',
        '--host',
        'a.test',
        '--secret',
        'value=hunter2-hunter2',
      ],
      ['credential', 'rotate', 'a/b', '--secret', 'hunter2-hunter2'],
      ['credential', 'rotate', 'a/b', '--json=hunter2-hunter2'],
      ['credential', 'put', 'a/b', '--kind', 'hunter2-hunter2'],
    ]) {
      const { status, out, err } = await sallyport(typed);
      expect(status).toBe(2);
      expect([...out, ...err].join('\n')).not.toContain('hunter2');
    }
  });
});

/** What stands behind `npx sallyport` in a line for a shell, up to where the shell goes on. */
function wordsOf(example: string): string[] {
  const [, typed = ''] = /npx sallyport ([^|)]+)/.exec(example) ?? [];
  return typed
    .split(/\s+/)
    .filter((word) => word !== '' && word !== '>' && !word.endsWith('.key'))
    .map((word) => word.replace(/^'|'$/g, ''));
}
