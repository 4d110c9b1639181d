/** The layer check is planted with one of each violation and must see it; what is right must pass. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkTree } from './check.ts';
import { LONG_FILES, REVEALERS } from './rules.ts';

/** Name, files on top of a sound tree, and what the one line must say. */
const VIOLATIONS: readonly (readonly [string, Readonly<Record<string, string>>, RegExp])[] = [
  [
    'core-lite imports egress',
    { 'core-lite/a.ts': importOf('../egress/gate.ts') },
    /core-lite may import nothing/,
  ],
  ['certs imports core-lite', { 'certs/a.ts': importOf('../core-lite/id.ts') }, /certs may import nothing/],
  ['gates imports egress', { 'gates/a.ts': importOf('../egress/gate.ts') }, /gates may import core-lite$/],
  ['gates imports certs', { 'gates/a.ts': importOf('../certs/leaf.ts') }, /gates may import core-lite$/],
  [
    'egress imports cli',
    { 'egress/a.ts': importOf('../cli/main.ts') },
    /egress may import core-lite, certs$/,
  ],
  ['egress imports test', { 'egress/a.ts': importOf('../test/a.ts'), 'test/a.ts': '' }, /egress may import/],
  [
    'pod imports the inside of core',
    { 'pod/a.ts': importOf('../core-lite/id.ts') },
    /pod may import core-lite\/wire$/,
  ],
  [
    'a type crosses',
    { 'certs/a.ts': "import type { T } from '../core-lite/id.ts';" },
    /certs\/a\.ts:1: imports/,
  ],
  ['a type expression crosses', { 'certs/a.ts': "type T = import('../core-lite/id.ts').T;" }, /certs may/],
  [
    'a dynamic import crosses',
    { 'certs/a.ts': "\nawait import('../core-lite/id.ts');" },
    /certs\/a\.ts:2: imports/,
  ],
  ['an export crosses', { 'certs/a.ts': "export * from '../core-lite/id.ts';" }, /certs may import nothing/],
  ['a named export crosses', { 'certs/a.ts': "export { x } from '../core-lite/id.ts';" }, /certs may import/],
  ['a computed import', { 'egress/a.ts': "await import('../' + 'core-lite/id.ts');" }, /only a run can tell/],
  ['an absolute import', { 'egress/a.ts': importOf('/opt/core-lite/id.ts') }, /use \.\//],
  ['an import of nothing', { 'egress/a.ts': importOf('./gone.ts') }, /egress\/gone\.ts, which is not there/],
  ['code in no layer', { 'extra/a.ts': '' }, /extra\/ is in no layer/],
  ['a file that does not parse', { 'egress/a.ts': 'const = 1;' }, /egress\/a\.ts: cannot be read/],
  ['a file that imports itself', { 'egress/a.ts': importOf('./a.ts') }, /a\.ts -> egress\/a\.ts$/],
  [
    'a circle',
    {
      'egress/a.ts': importOf('./b.ts'),
      'egress/b.ts': importOf('./c.ts'),
      'egress/c.ts': importOf('./a.ts'),
    },
    /egress\/a\.ts -> egress\/b\.ts -> egress\/c\.ts -> egress\/a\.ts$/,
  ],
  [
    'a circle of types',
    { 'egress/a.ts': "import type { B } from './b.ts';", 'egress/b.ts': "import type { A } from './a.ts';" },
    /imports itself/,
  ],
  ['an allow made outside decide', { 'egress/a.ts': "new Allow('x');" }, /a\.ts:1: makes a decision/],
  ['a deny made outside decide', { 'egress/a.ts': "new Deny('x');" }, /makes a decision/],
  [
    'an allow under another name',
    { 'egress/a.ts': `${importAs('Allow', 'Yes')}new Yes('x');` },
    /makes a decision/,
  ],
  ['an allow by inheritance', { 'egress/a.ts': 'class Mine extends Allow {}' }, /makes a decision/],
  ['an allow by cast', { 'egress/a.ts': 'const a = {} as unknown as Allow;' }, /makes a decision/],
  ['a verified token', { 'core-lite/tokens/mint.ts': 'new VerifiedToken(1);' }, /makes a verified token/],
  [
    'a cast verified token',
    { 'egress/a.ts': 'const a = {} as VerifiedToken<"run">;' },
    /makes a verified token/,
  ],
  ['an opened secret', { 'egress/a.ts': 'secret.reveal();' }, /opens a secret/],
  ['an optionally opened secret', { 'egress/a.ts': 'secret?.reveal();' }, /opens a secret/],
  ['a secret opened by name', { 'egress/a.ts': "secret['reveal']();" }, /opens a secret/],
  ['a secret opened by parts', { 'egress/a.ts': 'const { reveal } = secret;' }, /opens a secret/],
  ['process.env', { 'egress/a.ts': 'process.env.HOME;' }, /reads the environment/],
  ['process.env of globalThis', { 'egress/a.ts': 'globalThis.process.env;' }, /reads the environment/],
  ['env by parts', { 'egress/a.ts': 'const { env } = process;' }, /reads the environment/],
  ['env imported', { 'egress/a.ts': "import { env } from 'node:process';" }, /reads the environment/],
  ['a long file', { 'egress/a.ts': '\n'.repeat(301) }, /301 lines, 300 are the most/],
  ['a long test', { 'test/a.ts': '\n'.repeat(501) }, /501 lines, 500 are the most/],
  ['an exception that is not needed', { 'core-lite/vault/seal.ts': '' }, /take it out of REVEALERS/],
];

describe('the layer check', () => {
  let root: string;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'sallyport-layers-'));
  });
  afterEach(() => rm(root, { recursive: true }));

  const plant = async (files: Readonly<Record<string, string>>): Promise<void> => {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), text);
    }
  };

  it('passes a sound tree', async () => {
    await plant(SOUND);
    expect(await checkTree(root)).toEqual({ files: Object.keys(SOUND).length, violations: [] });
  });

  it.each(VIOLATIONS)('sees %s', async (_name, files, line) => {
    await plant(SOUND);
    await plant(files);
    const { violations } = await checkTree(root);
    expect(violations).toHaveLength(1);
    expect(violations[0]).toMatch(line);
  });

  it('does not pass where it found nothing', async () => {
    await plant({ 'README.md': '', 'node_modules/a/index.js': '' });
    expect(await checkTree(root)).toMatchObject({
      files: 0,
      violations: [expect.stringMatching(/nothing was checked/)],
    });
  });

  it('exits by what it found', async () => {
    await plant(SOUND);
    const main = fileURLToPath(new URL('main.ts', import.meta.url));
    const run = () => spawnSync(process.execPath, [main, root], { encoding: 'utf8' });
    expect(run()).toMatchObject({
      status: 0,
      stdout: `layers: ${Object.keys(SOUND).length} files, no violations\n`,
    });
    await plant({ 'egress/a.ts': 'secret.reveal();' });
    expect(run()).toMatchObject({ status: 1, stderr: expect.stringMatching(/^egress\/a\.ts:1: [^\n]+\n$/) });
  });

  it('has no exception for a file that is gone', () => {
    const excepted = [...Object.keys(LONG_FILES), ...Object.keys(REVEALERS)];
    const here = fileURLToPath(new URL('../..', import.meta.url));
    expect(excepted.filter((path) => !existsSync(join(here, path)))).toEqual([]);
  });
});

function importOf(target: string): string {
  return `import '${target}';\n`;
}

function importAs(name: string, local: string): string {
  return `import { ${name} as ${local} } from '../core-lite/decision.ts';\n`;
}

const SOUND: Readonly<Record<string, string>> = {
  'certs/leaf.ts': "import { sign } from 'node:crypto';\n",
  'core-lite/id.ts': '// Neither \'process.env\' nor "secret.reveal()" in text is code.\n',
  'core-lite/decision.ts': 'export class Allow {}\n',
  'core-lite/config.ts': 'process.env;\n',
  'core-lite/wire/join.ts': '',
  'core-lite/tokens/verify.ts': 'new VerifiedToken(1);\n',
  'gates/call.ts': importOf('../core-lite/id.ts'),
  'egress/gate.ts': `${importOf('../core-lite/id.ts')}${importOf('../certs/leaf.ts')}x instanceof Allow;\n`,
  'egress/decide/connect.ts': "new Allow('x');\n",
  'pod/join.ts': importOf('../core-lite/wire/join.ts'),
  'cli/main.ts': `${importOf('../egress/gate.ts')}${importOf('../certs/leaf.ts')}`,
  'cli/start.mjs': 'process.env;\nawait import(process.argv[2]);\n',
  'test/way.ts': "import '../cli/main.ts';\nnew Allow('x');\nsecret.reveal();\nprocess.env;\n",
};
