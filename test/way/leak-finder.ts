/**
 * Finds secrets in what a program said, in every dress in which they leak by accident: as they are, in JSON, in a URL,
 * in hex, in base64 and base64url at any place within other bytes, broken over lines.
 */

export interface Canary {
  /** Which secret it is, for the finding. */
  readonly name: string;
  readonly value: string | Buffer;
}

export interface Finding {
  readonly canary: string;
  readonly dress: string;
  /** What stands around it. */
  readonly around: string;
}

interface Needle {
  readonly canary: string;
  readonly dress: string;
  readonly text: string;
}

export class LeakFinder {
  readonly #needles: readonly Needle[];

  constructor(canaries: readonly Canary[]) {
    this.#needles = canaries.flatMap(({ name, value }) =>
      dresses(value).map(([dress, text]) => ({ canary: name, dress, text })),
    );
    const weak = this.#needles.find(({ text }) => text.length < MIN_NEEDLE);
    if (weak) throw new Error(`${weak.canary} is too short to be told from ordinary text`);
  }

  /** @param except names of canaries that may be there */
  search(text: string, except: readonly string[] = []): readonly Finding[] {
    // A value that was wrapped is found without its line ends, be they real or written out.
    const squeezed = text.replace(/\\r|\\n|\s/g, '');
    const views = [text, squeezed, squeezed.toLowerCase()];
    return this.#needles.flatMap(({ canary, dress, text: needle }) => {
      if (except.includes(canary)) return [];
      for (const view of views) {
        const at = view.indexOf(needle);
        if (at >= 0) return [{ canary, dress, around: view.slice(Math.max(0, at - 60), at + 120) }];
      }
      return [];
    });
  }
}

/** Every dress of a value, and of its core: a dress that cuts off or changes its ends is still found. */
function dresses(value: string | Buffer): readonly (readonly [string, string])[] {
  if (typeof value !== 'string') return encodings(value);
  const whole: (readonly [string, string])[] = [
    ['raw', value],
    ['json', JSON.stringify(value).slice(1, -1)],
    ['url', encodeURIComponent(value)],
    ['url, lower case', encodeURIComponent(value).replace(/%../g, (hex) => hex.toLowerCase())],
    ['form', new URLSearchParams([['', value]]).toString().slice(1)],
    ...encodings(Buffer.from(value)),
  ];
  const core = coreOf(value);
  return core === value ? whole : [...whole, ['core', core], ...encodings(Buffer.from(core))];
}

function encodings(bytes: Buffer): readonly (readonly [string, string])[] {
  const percent = bytes.toString('hex').replace(/../g, '%$&');
  return [
    ['bytes', bytes.toString('latin1')],
    ['hex', bytes.toString('hex')],
    ['hex, upper case', bytes.toString('hex').toUpperCase()],
    ['percent', percent],
    ['percent, upper case', percent.toUpperCase()],
    ...[0, 1, 2].flatMap((shift) => [
      [`base64 +${shift}`, shifted(bytes, shift, 'base64')] as const,
      [`base64url +${shift}`, shifted(bytes, shift, 'base64url')] as const,
    ]),
  ];
}

/** What base64 makes of the bytes when `shift` others stand before: only the characters that are theirs alone. */
function shifted(bytes: Buffer, shift: number, encoding: 'base64' | 'base64url'): string {
  const text = Buffer.concat([Buffer.alloc(shift), bytes]).toString(encoding);
  return text.slice(Math.ceil((shift * 8) / 6), Math.floor(((shift + bytes.length) * 8) / 6));
}

/** The longest run of letters and digits, which every dress but hex and base64 leaves as it is. */
function coreOf(value: string): string {
  const runs = value.match(/[A-Za-z0-9]+/g) ?? [];
  return runs.reduce((longest, run) => (run.length > longest.length ? run : longest), '');
}

const MIN_NEEDLE = 12;
