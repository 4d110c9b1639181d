/**
 * Variables as text for whoever sets them elsewhere: a shell's, a file of `NAME=value` lines, JSON. A value arrives as
 * it is or is refused: none is ever changed, cut or run.
 */

/** A value that the format has no one spelling for. */
export class UnwritableValue {
  declare private readonly brand: 'unwritable-value';
  /** The variable. Its value is never repeated: it may be anything. */
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

type Values = Readonly<Record<string, string>>;

/** Lines for `eval` or `.` of a POSIX shell. */
export function writeShell(variables: Values): string[] | UnwritableValue {
  return writeEach(variables, (name, value) =>
    value.includes('\0') ? null : `export ${name}='${value.replaceAll("'", String.raw`'\''`)}'`,
  );
}

/**
 * `NAME=value` lines that `docker run --env-file`, Compose and `node --env-file` read alike. They disagree on
 * quotes, escapes, `$` and `#`, so a value with any of these has no spelling here.
 */
export function writeDotenv(variables: Values): string[] | UnwritableValue {
  return writeEach(variables, (name, value) => (SAME_TO_ALL.test(value) ? `${name}=${value}` : null));
}

function writeEach(
  variables: Values,
  write: (name: string, value: string) => string | null,
): string[] | UnwritableValue {
  const lines: string[] = [];
  for (const [name, value] of Object.entries(variables)) {
    const line = NAME.test(name) ? write(name, value) : null;
    if (line === null) return new UnwritableValue(name);
    lines.push(line);
  }
  return lines;
}

/** What a shell takes for a name. */
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** Empty, or printable ASCII without white space at its ends and without what some reader treats as its own. */
const SAME_TO_ALL =
  /^(?:[!%&()*+,\-./0-9:;<=>?@A-Z[\]^_a-z{|}~](?:[ !%&()*+,\-./0-9:;<=>?@A-Z[\]^_a-z{|}~]*[!%&()*+,\-./0-9:;<=>?@A-Z[\]^_a-z{|}~])?)?$/;
