/** The fields of an object in its bytes: the same that a parser finds, in the same places, for any JSON. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OPERATIONS } from '../../../gates/dialects/operations.ts';
import { applyEdits } from '../../../gates/read/edit.ts';
import { type InnerVisitor, type Span, visitObject } from '../../../gates/read/json-bytes.ts';
import { makeNameEdit, readModelBody } from '../../../gates/read/model-call.ts';

function fieldsOf(body: Buffer): [string, Span][] | null {
  const fields: [string, Span][] = [];
  const whole = visitObject(body, [0, body.length], {
    field: (name, value) => {
      fields.push([name, value]);
      return true;
    },
  });
  return whole ? fields : null;
}

/** JSON as some other writer spaces and escapes it. */
const spaced = fc.record({
  value: fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue(), { maxKeys: 6 }),
  indent: fc.constantFrom('', ' ', '\t', '    '),
  lead: fc.constantFrom('', ' ', '\r\n\t'),
  escaped: fc.boolean(),
});

function write({
  value,
  indent,
  lead,
  escaped,
}: typeof spaced extends fc.Arbitrary<infer T> ? T : never): Buffer {
  const text = lead + JSON.stringify(value, null, indent) + lead;
  return Buffer.from(
    escaped
      ? text.replace(/[\u0080-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)
      : text,
  );
}

describe('the fields of an object', () => {
  it('are those that a parser finds', () => {
    fc.assert(
      fc.property(spaced, (written) => {
        const body = write(written);
        const parsed = JSON.parse(body.toString()) as Record<string, unknown>;
        const found = fieldsOf(body)?.map(([name, span]) => [
          name,
          JSON.parse(body.toString('utf8', ...span)),
        ]);
        expect(found && Object.fromEntries(found)).toEqual({ ...parsed });
      }),
    );
  });

  it('end with the object: what is cut off, or goes on, is no object', () => {
    fc.assert(
      fc.property(
        spaced,
        fc.nat(),
        fc.constantFrom('{', '}', ']', ',', '"', 'x', '\0'),
        (written, n, more) => {
          const body = Buffer.from(write({ ...written, lead: '' }));
          expect(fieldsOf(body.subarray(0, n % body.length))).toBeNull();
          expect(fieldsOf(Buffer.concat([body, Buffer.from(more)]))).toBeNull();
        },
      ),
    );
  });

  it('are found or not in any bytes, and never outside of them', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const body = Buffer.concat([Buffer.from('{'), bytes, Buffer.from('}')]);
        for (const [, [from, to]] of fieldsOf(body) ?? []) {
          expect(from).toBeLessThan(to);
          expect(to).toBeLessThan(body.length);
        }
      }),
    );
  });
});

describe('an object beyond every measure', () => {
  const MEASURES: readonly (readonly [name: string, write: (size: number) => string, most: number])[] = [
    ['fields', (size) => `{${Array(size).fill('"":1').join()}}`, 10_000],
    ['bytes of a name', (size) => `{"${'a'.repeat(size - 2)}":1}`, 512],
    ['levels', (size) => `{"a":${'['.repeat(size)}${']'.repeat(size)}}`, 512],
    [
      'levels of objects',
      (size) => `{"a":[${'[],'.repeat(9)}${'{"a":'.repeat(size - 1)}1${'}'.repeat(size - 1)}]}`,
      512,
    ],
  ];
  for (const [name, writeOf, most] of MEASURES) {
    it(`is none: ${name}`, () => {
      expect(fieldsOf(Buffer.from(writeOf(most)))).not.toBeNull();
      expect(fieldsOf(Buffer.from(writeOf(most + 1)))).toBeNull();
    });
  }
});

function visitorOf(wanted: string, longText: (text: Span, object: Span) => void): InnerVisitor {
  const lastBytes = new Uint8Array(256);
  lastBytes[wanted.toLowerCase().charCodeAt(wanted.length - 1)] = 1;
  return {
    lastBytes,
    field: () => true,
    wantsText: (name) => name === wanted,
    longText: (_name, text, object) => longText(text, object),
  };
}

describe('inner objects', () => {
  it('are visited like the outer one, at their place alone, however they are spaced and escaped', () => {
    fc.assert(
      fc.property(spaced, (written) => {
        const inner = { ...written.value, k: 5 };
        const body = write({
          ...written,
          value: { k: [inner, 'x', { y: inner }, [inner], 7], o: [{ k: 1 }] },
        });
        const told: number[] = [];
        const visitor: InnerVisitor = {
          ...visitorOf('k', () => {}),
          field: (name, [from]) => name !== 'k' || told.push(body[from] ?? 0) > 0,
        };
        const outer = { field: () => true, inside: (name: string) => (name === 'k' ? visitor : undefined) };
        expect(visitObject(body, [0, body.length], outer)).toBe(true);
        expect(told).toEqual([0x35]);
      }),
    );
  });

  it('are none beyond every measure, or where their list is none', () => {
    const visitor = visitorOf('k', () => {});
    const isWhole = (text: string): boolean =>
      visitObject(Buffer.from(text), [0, text.length], { field: () => true, inside: () => visitor });
    for (const list of ['[]', '[{}]', '[ {} , 1 ,[{}]]', '{}', '7', '"x"'])
      expect([list, isWhole(`{"a":${list}}`)]).toEqual([list, true]);
    for (const list of ['[,]', '[{},]', '[{} {}]', '[', '[{]', '[{"k"}]', '{"k":}', '[{"\\k":1}]'])
      expect([list, isWhole(`{"a":${list}}`)]).toEqual([list, false]);
    expect(isWhole(`{"a":[${Array(300_001).fill('{"k":1}').join()}]}`)).toBe(false);
    expect(isWhole(`{"a":[${Array(300_001).fill('{"j":1}').join()}]}`)).toBe(true);
  });
});

describe('long texts', () => {
  it('are told with their quotes, however they are escaped', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('a', '"', '\\', '漢', '\n'), { minLength: 600, maxLength: 1500 }),
        (letters) => {
          const text = letters.join('');
          const object = { c: text, b: text, B: text, x: [1] };
          const body = Buffer.from(JSON.stringify({ a: [text, object, [object], { b: 'short' }], b: text }));
          const told: unknown[] = [];
          const inside = visitorOf('b', (...spans) =>
            told.push(...spans.map((span) => JSON.parse(body.toString('utf8', ...span)))),
          );
          const whole = visitObject(body, [0, body.length], {
            field: () => true,
            inside: (name) => (name === 'a' ? inside : undefined),
          });
          const long = Buffer.byteLength(JSON.stringify(text)) > 1024;
          expect([whole, told]).toEqual([true, long ? [text, object] : []]);
        },
      ),
      { numRuns: 50 },
    );
  });
});

describe('an edited body', () => {
  it('is the same body with another name in it', () => {
    fc.assert(
      fc.property(
        spaced,
        fc.string({ minLength: 1 }),
        fc.string({ minLength: 1 }),
        (written, name, other) => {
          const value = { ...JSON.parse(JSON.stringify(written.value)), model: name };
          for (const key of Object.keys(value)) if (key !== 'model' && TAKEN.has(key.toLowerCase())) return;
          const body = write({ ...written, value });
          const read = readModelBody(body, OPERATIONS.chat, null);
          if ('refusal' in read) throw new Error(read.refusal);
          expect(read.model).toBe(name);
          const edit = makeNameEdit(read, other);
          const edited = applyEdits(body, edit ? [edit] : []);
          expect(JSON.parse(edited.toString())).toEqual({ ...value, model: other });
        },
      ),
    );
  });
});

const TAKEN = new Set(['model', 'stream', 'n', 'max_tokens', 'max_completion_tokens', 'stream_options']);
