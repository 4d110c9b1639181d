/** What the origin of the clients' tests has for each of them: pages, a repository, packages, models' answers. */
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeDemoRepository } from '../../cli/up/demo-repository.ts';
import { ITSELF, type Pages } from './client-origin.ts';
import { programOf, runCommand } from './real-clients.ts';

export async function makePages(): Promise<Pages> {
  const [archive, wheel] = await makePackages();
  const json = (value: object): Buffer => Buffer.from(JSON.stringify(value));
  return new Map([
    ['/page', Buffer.from('hello from the origin\n')],
    ...[...makeDemoRepository()].map(([name, bytes]) => [`/demo.git/${name}`, bytes] as const),
    ['/npm/demo', json(npmPackage(archive))],
    ['/npm/demo.tgz', archive],
    ['/simple/demo/', Buffer.from(`<a href="${WHEEL}#sha256=${hash('sha256', wheel, 'hex')}">${WHEEL}</a>`)],
    [`/simple/demo/${WHEEL}`, wheel],
    ['/v1/chat/completions', json(OPENAI_ANSWER)],
    ['/v1/messages', json(ANTHROPIC_ANSWER)],
  ]);
}

/** For npm and for pip. */
async function makePackages(): Promise<[Buffer, Buffer]> {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-packages-'));
  try {
    const words = ['python3', programOf('make_packages.py'), folder];
    const { status, said } = await runCommand(words, { PATH: process.env['PATH'] ?? '' }, folder);
    if (status !== 0) throw new Error(said);
    return [await readFile(join(folder, ARCHIVE)), await readFile(join(folder, WHEEL))];
  } finally {
    await rm(folder, { recursive: true });
  }
}

function npmPackage(archive: Buffer): object {
  const integrity = `sha512-${hash('sha512', archive, 'base64')}`;
  const dist = { tarball: `${ITSELF}/npm/demo.tgz`, integrity };
  const versions = { '1.0.0': { name: 'demo', version: '1.0.0', dist } };
  return { name: 'demo', 'dist-tags': { latest: '1.0.0' }, versions };
}

function hash(algorithm: string, bytes: Buffer, encoding: 'hex' | 'base64'): string {
  return createHash(algorithm).update(bytes).digest(encoding);
}

const ARCHIVE = 'demo-1.0.0.tgz';
const WHEEL = 'demo-1.0.0-py3-none-any.whl';
const SAID = 'hello from a model';
const OPENAI_ANSWER = {
  id: 'c',
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: SAID } }],
};
const ANTHROPIC_ANSWER = {
  id: 'm',
  type: 'message',
  role: 'assistant',
  content: [{ type: 'text', text: SAID }],
  usage: { input_tokens: 1, output_tokens: 1 },
};
