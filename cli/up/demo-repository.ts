/**
 * A git repository with one commit, as the files of git's "dumb" HTTP protocol: a server of static files is enough
 * for `git ls-remote` and `git clone`. Always the same bytes, so the commit has the same id everywhere.
 */
import { createHash } from 'node:crypto';
import { deflateSync } from 'node:zlib';

/** Path inside the repository -> content. */
export function makeDemoRepository(): ReadonlyMap<string, Buffer> {
  const readme = makeObject('blob', Buffer.from(README));
  const tree = makeObject(
    'tree',
    Buffer.concat([Buffer.from('100644 README.md\0'), Buffer.from(readme.id, 'hex')]),
  );
  const commit = makeObject('commit', Buffer.from(commitText(tree.id)));
  return new Map([
    ['HEAD', Buffer.from(`ref: ${BRANCH}\n`)],
    ['info/refs', Buffer.from(`${commit.id}\t${BRANCH}\n`)],
    ['objects/info/packs', Buffer.from('\n')],
    ...[readme, tree, commit].map(({ id, bytes }) => [objectPath(id), bytes] as const),
  ]);
}

interface GitObject {
  readonly id: string;
  /** As it lies in the repository. */
  readonly bytes: Buffer;
}

/** SHA-1 is what names an object in git; nothing here relies on it. */
function makeObject(kind: 'blob' | 'tree' | 'commit', content: Buffer): GitObject {
  const whole = Buffer.concat([Buffer.from(`${kind} ${content.length}\0`), content]);
  return { id: createHash('sha1').update(whole).digest('hex'), bytes: deflateSync(whole) };
}

function objectPath(id: string): string {
  return `objects/${id.slice(0, 2)}/${id.slice(2)}`;
}

function commitText(treeId: string): string {
  return `tree ${treeId}\nauthor ${AUTHOR}\ncommitter ${AUTHOR}\n\nCome through the sally port\n`;
}

const BRANCH = 'refs/heads/main';
const AUTHOR = 'Sallyport <demo@sallyport.test> 1767225600 +0000';
const README = `# demo

This repository came through Sallyport. The proxy resolved the name, judged the address, wrote the record
and only then opened the connection; \`npx sallyport connections\` shows the row.
`;
