/**
 * A value that must not be shown. It prints as `[secret]` wherever a value is turned into text by accident: logs,
 * template strings, errors, JSON, the inspector. `reveal()` is called only where the bytes leave.
 */
import { inspect } from 'node:util';

export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The value itself. Call it where the bytes leave, never earlier. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return '[secret]';
  }

  toJSON(): string {
    return '[secret]';
  }

  [inspect.custom](): string {
    return '[secret]';
  }
}
