/**
 * A folder to write what clients trust into: made, or found and left as it is. Whoever else could write to it could put
 * another CA in its files' place, so such a folder is refused; the mode of one that was there is never changed.
 */
import { chmod, lstat, mkdir, realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Why a folder is not written to. */
export type Unsafe = 'of_another_user' | 'writable_by_others';

export class UnsafeFolder extends Error {
  /** The one that is not safe: itself, or one above it. */
  readonly folder: string;
  readonly why: Unsafe;

  constructor(folder: string, why: Unsafe) {
    super(`${folder}: ${why}`);
    this.folder = folder;
    this.why = why;
  }
}

/** Rejects with `UnsafeFolder`, or as the system does. */
export async function openFolder(folder: string): Promise<void> {
  const made = await makeFolder(folder);
  const self = process.getuid?.();
  if (self !== undefined) await judgeParents(await realpath(folder), self);
  if (made) return;
  // A link is another's way to choose where it leads.
  for (const facts of [await lstat(folder), await stat(folder)]) {
    const why = self === undefined ? null : judgeFolder(facts, self);
    if (why) throw new UnsafeFolder(folder, why);
  }
}

/** Who may write to a folder above may put another one in this one's place, but for folders that are sticky as /tmp is. */
async function judgeParents(folder: string, self: number): Promise<void> {
  for (let at = dirname(folder); ; at = dirname(at)) {
    const { uid, mode } = await stat(at);
    if (uid !== self && uid !== ROOT) throw new UnsafeFolder(at, 'of_another_user');
    if ((mode & WRITABLE_BY_OTHERS) !== 0 && (mode & STICKY) === 0)
      throw new UnsafeFolder(at, 'writable_by_others');
    if (dirname(at) === at) return;
  }
}

/** @param self our user id */
export function judgeFolder(
  { uid, mode }: { readonly uid: number; readonly mode: number },
  self: number,
): Unsafe | null {
  if (uid !== self && uid !== ROOT) return 'of_another_user';
  // A link's own mode says nothing.
  const isLink = (mode & KIND) === LINK;
  return !isLink && (mode & WRITABLE_BY_OTHERS) !== 0 ? 'writable_by_others' : null;
}

/**
 * With those above it. Not `recursive`: Node's never ends where a file system makes no folders, such as /proc.
 * @returns whether it was made
 */
async function makeFolder(folder: string): Promise<boolean> {
  const failed = await mkdir(folder).then(
    () => null,
    (error: NodeJS.ErrnoException) => error,
  );
  if (failed?.code === 'EEXIST') return false;
  if (failed && (failed.code !== 'ENOENT' || dirname(folder) === folder)) throw failed;
  if (failed) {
    await makeFolder(dirname(folder));
    await mkdir(folder);
  }
  await chmod(folder, READABLE_BY_ALL);
  return true;
}

const ROOT = 0;
const KIND = 0o170000;
const LINK = 0o120000;
const WRITABLE_BY_OTHERS = 0o022;
const STICKY = 0o1000;
/** Whatever the umask: some clients run as another user. */
const READABLE_BY_ALL = 0o755;
