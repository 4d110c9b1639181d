/**
 * Values of secrets that are files or variables where egress runs, such as mounted Kubernetes secrets. Only what the
 * operator opened is read (SALLYPORT_SECRET_FOLDER, SALLYPORT_SECRET_VARIABLES), never the keys of egress itself; a
 * value whose file is gone is gone.
 */
import { createHmac } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import type { Config } from '../config.ts';
import { Fault } from '../errors.ts';
import { Secret } from '../secret.ts';
import { secretFault } from './credential.ts';
import type { ValueSource } from './value-source.ts';

export interface OperatorValue {
  readonly value: Secret;
  /** Keyed: changes with the value and tells nothing of it. */
  readonly digest: string;
}

/** Code -> what it means. */
export const VALUE_FAILURES = {
  VALUE_NOT_OPENED:
    'the file or variable is not one that SALLYPORT_SECRET_FOLDER or SALLYPORT_SECRET_VARIABLES opens',
  VALUE_MISSING: 'the file does not exist, or the variable is not set or empty',
  VALUE_UNREADABLE: 'the file cannot be read: look at its rights',
  VALUE_UNFIT: 'the value is too short or too long for a secret, or holds what no header can carry',
} as const satisfies Record<string, string>;

export type ValueFailure = keyof typeof VALUE_FAILURES;

export interface OperatorValuesOptions {
  /** Below it files are read; without it none are. */
  readonly folder: string | undefined;
  /** Those that are opened, with their values. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** For the digests. */
  readonly key: Buffer;
  /** Milliseconds; for how long a look at a file holds. */
  readonly now: () => number;
}

interface Look {
  readonly at: number;
  /** What the file was when it was read; `null` where that cannot be told from what it may be a moment later. */
  readonly stamp: string | null;
  readonly result: OperatorValue | ValueFailure;
}

export class OperatorValues {
  readonly #options: OperatorValuesOptions;
  readonly #looks = new Map<string, Look>();
  /** As they were at the start: a process has no others later. */
  readonly #variables = new Map<string, OperatorValue | ValueFailure>();
  readonly #looking = new Map<string, Promise<Look>>();

  constructor(options: OperatorValuesOptions) {
    this.#options = options;
  }

  /** Never rejects. A change of a file is seen within a second. */
  async read({ kind, name }: ValueSource): Promise<OperatorValue | ValueFailure> {
    return kind === 'env' ? this.#readVariable(name) : this.#readFile(name);
  }

  #readVariable(name: string): OperatorValue | ValueFailure {
    const { variables } = this.#options;
    if (!Object.hasOwn(variables, name)) return 'VALUE_NOT_OPENED';
    const text = variables[name];
    // The same Secret each time: what is made for one, such as the forms that answers are searched for, is made once.
    const judged = this.#variables.get(name) ?? (text ? this.#judge(text) : 'VALUE_MISSING');
    this.#variables.set(name, judged);
    return judged;
  }

  async #readFile(name: string): Promise<OperatorValue | ValueFailure> {
    const last = this.#looks.get(name);
    if (last && this.#options.now() - last.at < LOOK_HOLDS_MS) return last.result;
    const looking = this.#looking.get(name) ?? this.#look(name, last);
    this.#looking.set(name, looking);
    return (await looking).result;
  }

  async #look(name: string, last: Look | undefined): Promise<Look> {
    const at = this.#options.now();
    const seen = await this.#see(name, last).catch((error: unknown) => ({
      stamp: null,
      result: failureOf(error),
    }));
    const look = { at, ...seen };
    // Names come from credentials, which are few; whoever deletes and makes them all day must not fill the memory.
    if (this.#looks.size >= MAX_LOOKS) this.#looks.clear();
    this.#looks.set(name, look);
    this.#looking.delete(name);
    return look;
  }

  async #see(name: string, last: Look | undefined): Promise<Omit<Look, 'at'>> {
    const { folder } = this.#options;
    if (folder === undefined) return { stamp: null, result: 'VALUE_NOT_OPENED' };
    // A mount swaps symbolic links to change all its files at once: they are followed, but not out of the folder.
    const [base, path] = [await realpath(folder), await realpath(join(folder, name))];
    if (!path.startsWith(base + sep)) return { stamp: null, result: 'VALUE_NOT_OPENED' };
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      return await this.#readOpen(file, path, last);
    } finally {
      await file.close();
    }
  }

  async #readOpen(file: FileHandle, path: string, last: Look | undefined): Promise<Omit<Look, 'at'>> {
    const stat = await file.stat({ bigint: true });
    if (!stat.isFile() || stat.size > MAX_FILE_BYTES) return { stamp: null, result: 'VALUE_UNFIT' };
    const stamp = `${path} ${stat.dev} ${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs}`;
    if (last?.stamp === stamp) return { stamp, result: last.result };
    const bytes = await file.readFile();
    // Its clock is coarse: what was written just now may be written again without a trace.
    const fresh = BigInt(Date.now()) - stat.mtimeNs / 1_000_000n < FRESH_MS;
    return { stamp: fresh ? null : stamp, result: this.#judge(decode(bytes).replace(/\r?\n$/, '')) };
  }

  #judge(text: string): OperatorValue | ValueFailure {
    if (secretFault(text) !== null) return 'VALUE_UNFIT';
    const digest = createHmac('sha256', this.#options.key).update(text).digest('hex').slice(0, DIGEST_CHARS);
    return { value: new Secret(text), digest };
  }
}

/**
 * As the settings open them. Rejects with Fault `config_invalid` where the folder is none, or holds a key of egress.
 * @param variables of the process
 */
export async function openOperatorValues(
  config: Config,
  variables: NodeJS.ProcessEnv,
  key: Buffer,
): Promise<OperatorValues> {
  const { secretFolder: folder, secretVariables } = config;
  if (folder !== undefined) await checkFolder(folder, config);
  const opened = Object.fromEntries(secretVariables.map((name) => [name, variables[name]]));
  return new OperatorValues({ folder, variables: opened, key, now: () => performance.now() });
}

/** Whoever may write a credential must not be able to send egress's own keys to a host. */
async function checkFolder(folder: string, config: Config): Promise<void> {
  const base = await realpath(folder).catch(() => null);
  if (base === null) throw new Fault('config_invalid', `SALLYPORT_SECRET_FOLDER: there is no ${folder}`);
  const { masterKeyFile, masterKeyPreviousFile, classKeyFile, adminKeyFile, home } = config;
  for (const own of [masterKeyFile, masterKeyPreviousFile, classKeyFile, adminKeyFile, home]) {
    const path = own === undefined ? null : await realpath(own).catch(() => null);
    if (path !== null && `${path}${sep}`.startsWith(base + sep)) {
      throw new Fault('config_invalid', `SALLYPORT_SECRET_FOLDER holds ${own}, where keys of Sallyport are`);
    }
  }
}

function failureOf(error: unknown): ValueFailure {
  const { code } = error as { readonly code?: unknown };
  return code === 'ENOENT' || code === 'ENOTDIR' ? 'VALUE_MISSING' : 'VALUE_UNREADABLE';
}

/** Bytes that are no text become characters that no secret may have. */
function decode(bytes: Buffer): string {
  return bytes.toString('latin1');
}

const LOOK_HOLDS_MS = 1_000;
const FRESH_MS = 2_000n;
const MAX_LOOKS = 10_000;
/** Above the longest secret and its line end. */
const MAX_FILE_BYTES = 16_386n;
const DIGEST_CHARS = 16;
