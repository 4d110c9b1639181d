/**
 * Whether arguments fit a tool's input schema. The schema is a server's and the arguments an agent's: compiling one and
 * judging by it has a time limit, since a pattern or a nest of alternatives can take for ever. No reference leaves it.
 */
import { createHash } from 'node:crypto';
import { createContext, Script } from 'node:vm';
import { ToolSchemas } from '../../tool-schemas.ts';
import { isTooDeep } from '../messages.ts';

export class ArgumentSchemas {
  readonly #schemas = new ToolSchemas();
  /** How often it took too long, by the schema's hash: a busy machine may be slow once, and is asked again. */
  readonly #slow = new Map<string, number>();

  constructor() {
    // What is compiled with the first schema is no part of its time.
    this.#schemas.judge({}, 'input', {});
  }

  /** @returns `null` where they fit, else one line on where they do not; never a value of them */
  judge(schema: object, args: unknown): string | null {
    if (isTooDeep(schema)) return 'the tool’s input schema is nested too deep';
    if (this.#slow.size > 0 && (this.#slow.get(hashOf(schema)) ?? 0) >= MAX_TRIES) return TOO_SLOW;
    try {
      return within(LIMIT_MS, () => this.#schemas.judge(schema, 'input', args));
    } catch (error) {
      if (!isTimeout(error)) throw error;
      this.#count(hashOf(schema));
      return TOO_SLOW;
    }
  }

  #count(hash: string): void {
    if (this.#slow.size >= MAX_SLOW) this.#slow.clear();
    this.#slow.set(hash, (this.#slow.get(hash) ?? 0) + 1);
  }
}

function hashOf(schema: object): string {
  return createHash('sha256').update(JSON.stringify(schema)).digest('hex');
}

/** Ends what takes longer, in the middle of a regular expression too: nothing else in this process can. */
function within<T>(timeout: number, job: () => T): T {
  JOB.context['job'] = job;
  try {
    return JOB.script.runInContext(JOB.context, { timeout }) as T;
  } finally {
    JOB.context['job'] = null;
  }
}

function isTimeout(error: unknown): boolean {
  return (error as { readonly code?: unknown } | null)?.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
}

const JOB = { context: createContext({ job: null }), script: new Script('job()') };
const TOO_SLOW = 'judging them by the tool’s input schema takes too long';
const LIMIT_MS = 200;
const MAX_TRIES = 3;
const MAX_SLOW = 1_000;
