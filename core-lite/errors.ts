/**
 * Faults: what went wrong on our side or in what an operator gave us. One class, one closed table of codes; callers
 * compare codes, never messages. A denial is not a fault: it is a value, see `decision.ts`.
 */

/** Code -> [HTTP status where an API answers with it, what to do about it]. */
const FAULTS = {
  config_invalid: [500, 'correct the settings named above; `sallyport config` lists every one'],
  home_in_use: [409, 'stop that process first, or set SALLYPORT_HOME to another folder'],
  port_taken: [
    500,
    'stop what listens there, or set another address: the SALLYPORT_…_LISTEN of `sallyport config`',
  ],
  database_unreachable: [503, 'check that the server runs and that DATABASE_URL names it'],
  database_too_new: [500, 'run a newer Sallyport on this database'],
  database_not_migrated: [500, 'run `sallyport migrate` with the owner’s DATABASE_URL'],
  database_rights: [500, 'log in as a member of the role, see `sallyport migrate --help`'],
  database_start_failed: [
    500,
    'read the server’s log named above, or set DATABASE_URL to a server of your own',
  ],
  master_key_missing: [500, 'set SALLYPORT_MASTER_KEY_FILE to the key that this database was set up with'],
  master_key_wrong: [500, 'set SALLYPORT_MASTER_KEY_FILE to the key that this database was set up with'],
  class_key_missing: [
    500,
    'set SALLYPORT_MASTER_KEY_FILE, or SALLYPORT_CLASS_KEY_FILE to the exported class key',
  ],
  seal_broken: [500, 'the row was changed outside Sallyport or sealed with another key: put the value again'],
  input_invalid: [400, 'correct the input and send it again'],
  unauthorized: [401, 'send the admin key as `Authorization: Bearer …`'],
  forbidden: [403, 'use an admin key whose role is full'],
  not_found: [404, 'list what there is to see the names'],
  conflict: [409, 'read the current state and decide again'],
  run_stale: [409, 'stop this run: start a turn or take its lease again'],
  core_unreachable: [503, 'start it with `npm start`, or set SALLYPORT_CORE_URL'],
  internal: [500, 'look into the service’s log for this id'],
} as const satisfies Record<string, readonly [number, string]>;

export type FaultCode = keyof typeof FAULTS;

export class Fault extends Error {
  readonly code: FaultCode;

  /**
   * @param code from the closed table
   * @param what one line for the user: what happened and to what, without any secret
   * @param cause the error it was translated from; never shown to a caller
   */
  constructor(code: FaultCode, what: string, cause?: unknown) {
    super(what, cause === undefined ? undefined : { cause });
    this.name = 'Fault';
    this.code = code;
  }

  /** The HTTP status an API answers with. */
  get status(): number {
    return FAULTS[this.code][0];
  }

  /** What the user can do, without a full stop. */
  get remedy(): string {
    return FAULTS[this.code][1];
  }
}

/** `not_found` for what was named; its remedy is the command that lists the names. */
export class NoSuch extends Fault {
  readonly #noun: keyof typeof LISTS;

  constructor(noun: keyof typeof LISTS, name: string) {
    super('not_found', `there is no ${noun} ${name}`);
    this.#noun = noun;
  }

  override get remedy(): string {
    return `see sallyport ${LISTS[this.#noun]}`;
  }
}

/** What has a name -> the command that lists the names. */
export const LISTS = {
  environment: 'env list',
  vault: 'vault list',
  credential: 'credential list',
  model: 'model list',
  budget: 'budget list',
  session: 'session list',
  'signing key': 'keys list',
  'admin key': 'admin-key list',
} as const;

/** Whether `error` is a fault, of `code` if one is given. */
export function isFault(error: unknown, code?: FaultCode): error is Fault {
  return error instanceof Fault && (code === undefined || error.code === code);
}
