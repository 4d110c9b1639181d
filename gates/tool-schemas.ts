/** Compiled schemas of tools. They come from manifests: bounded in number, and no reference leaves the schema. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

export class ToolSchemas {
  // Strings are as they are in `tools`: one manifest may be held many times, as many objects.
  readonly #compiled = new Map<string, ValidateFunction | null>();
  /** Judges the schemas: its own takes long to compile, so there is one for all. It learns nothing of any. */
  readonly #meta = new Ajv2020(OPTIONS);

  /**
   * @param what the schema is for
   * @returns `null` when the value fits, else one line on where it does not; never a value of it.
   */
  judge(schema: object, what: 'input' | 'output', value: unknown): string | null {
    const validate = this.#compile(JSON.stringify(schema));
    if (!validate) return `the tool’s ${what} schema is not a JSON Schema that can be used`;
    if (validate(value)) return null;
    const [first] = validate.errors ?? [];
    return `${what}${first?.instancePath ?? ''} ${first?.message ?? 'does not fit the schema'}`;
  }

  #compile(text: string): ValidateFunction | null {
    const known = this.#compiled.get(text);
    if (known !== undefined) return known;
    const compiled = compile(text, this.#meta);
    const [oldest] = this.#compiled.keys();
    if (this.#compiled.size >= MAX_SCHEMAS && oldest !== undefined) this.#compiled.delete(oldest);
    this.#compiled.set(text, compiled);
    return compiled;
  }
}

function compile(text: string, meta: Ajv2020): ValidateFunction | null {
  try {
    const { $schema: _dialect, ...schema } = JSON.parse(text) as Record<string, unknown>;
    if (!meta.validateSchema(schema)) return null;
    // One compiler for each schema: what it keeps of one must not be seen by another.
    return new Ajv2020({ ...OPTIONS, validateSchema: false, meta: false }).compile(schema);
  } catch {
    return null;
  }
}

/** Without `allErrors` it stops at the first: an input cannot make work by being wrong in many places. */
const OPTIONS = { strict: false, validateFormats: false, logger: false as const, ownProperties: true };
const MAX_SCHEMAS = 1_000;
