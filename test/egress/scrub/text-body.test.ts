/** Text bodies: whatever form and spelling of whatever secret, cut wherever, is masked; and nothing else is touched. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Secret } from '../../../core-lite/secret.ts';
import { Scrubber } from '../../../egress/scrub/scrubber.ts';
import { cutAt, secretText, spelled } from './spell.ts';

const TEXT = { status: 200, headers: [] };

/** What comes out of a body that comes in these pieces. */
function scrub(secrets: readonly string[], pieces: readonly Buffer[]) {
  const scrubber = new Scrubber(
    secrets.map((secret) => new Secret(secret)),
    'e',
  );
  const body = scrubber.body(TEXT);
  const out = pieces.flatMap((piece) => body.push(Buffer.from(piece), [0, piece.length]) as Buffer[]);
  return {
    text: Buffer.concat([...out, ...(body.end() as Buffer[])]).toString('latin1'),
    masked: scrubber.masked,
  };
}

const scrubText = (secret: string, text: string) => scrub([secret], [Buffer.from(text, 'latin1')]);
const SECRET = 'sk-live/abc+d "e"~0123';
const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('a form', () => {
  it.each([
    ['plain', SECRET],
    ['URL-encoded', encodeURIComponent(SECRET)],
    ['URL-encoded in lower case', encodeURIComponent(SECRET).replace(/%../g, (each) => each.toLowerCase())],
    ['as a form field', new URLSearchParams({ '': SECRET }).toString().slice(1)],
    ['in JSON', JSON.stringify(SECRET).slice(1, -1)],
    ['in JSON with escaped slashes', JSON.stringify(SECRET).slice(1, -1).replaceAll('/', '\\/')],
    [
      'in JSON with escaped code points',
      SECRET.replace(/[/"]/g, (char) => `\\u00${char.charCodeAt(0).toString(16)}`),
    ],
    [
      'with every character escaped',
      [...SECRET].map((char) => `%${char.charCodeAt(0).toString(16)}`).join(''),
    ],
  ])('%s is masked and nothing around it', (_name, form) => {
    expect(scrubText(SECRET, `{"a":"${form}"}\n`)).toEqual({
      text: `{"a":"${'*'.repeat(form.length)}"}\n`,
      masked: 1,
    });
  });

  it('beyond ASCII is masked as it is, and percent-encoded', () => {
    const secret = 'pässwört€-0123';
    for (const form of [Buffer.from(secret).toString('latin1'), encodeURIComponent(secret)])
      expect(scrubText(secret, `<${form}>`).text).toBe(`<${'*'.repeat(form.length)}>`);
  });

  it.each([0, 1, 2])('in base64 behind %i other bytes is masked but for its shared borders', (before) => {
    for (const after of ['', '1', '12']) {
      const text = base64(`${'x'.repeat(before)}${SECRET}${after}`);
      const { text: masked } = scrubText(SECRET, text);
      const first = Math.ceil((before * 8) / 6);
      const last = Math.floor(((before + SECRET.length) * 8) / 6);
      expect(masked).toBe(text.slice(0, first) + '*'.repeat(last - first) + text.slice(last));
    }
  });

  it('inside a Basic value leaves the user and hides the secret', () => {
    const { text } = scrubText(SECRET, `Basic ${base64(`user:${SECRET}`)}`);
    expect(Buffer.from(text.slice(6).replaceAll('*', 'A'), 'base64').toString('latin1')).toMatch(/^user:/);
    expect(text).toMatch(/^Basic dXNlcj.\*+.?=*$/);
  });

  it('is counted each time, and once where two overlap', () => {
    expect(scrubText('abcdabcd', 'abcdabcd abcdabcdabcd').masked).toBe(2);
    expect(scrubText('abcdabcd', 'abcdabcdabcd').text).toBe('************');
  });

  it('is masked whole where a shorter secret is its beginning', () => {
    const text = scrub(
      ['abcdefgh', 'abcdefghijkl'],
      [Buffer.from('-abcdefgh-abcdefghij'), Buffer.from('kl-')],
    ).text;
    expect(text).toBe('-********-************-');
  });

  it('that follows a character which could have begun an escape is found', () => {
    expect(scrubText('beef0123', '%beef0123 \\u00beef0123').text).toBe('%******** \\u00********');
  });
});

describe('whatever the secret and the text', () => {
  it('no form comes through, the length stays, and so does what is no form', () => {
    const cases = secretText.chain((secret) =>
      fc.tuple(
        fc.constant(secret),
        fc.string({ maxLength: 80 }),
        spelled(secret),
        fc.string({ maxLength: 80 }),
        fc.array(fc.nat({ max: 400 }), { maxLength: 6 }),
      ),
    );
    fc.assert(
      fc.property(cases, ([secret, before, form, after, cuts]) => {
        const text = Buffer.from(before + form + after);
        const out = scrub([secret], cutAt(text, cuts));
        expect(out.text.length).toBe(text.length);
        expect(out.masked).toBeGreaterThan(0);
        expect(scrub([secret], [Buffer.from(out.text, 'latin1')]).masked).toBe(0);
        // What was changed is one stretch of stars inside the form, or what stands beside it is read as its escape.
        const changed = [...text.keys()].filter((i) => out.text.charCodeAt(i) !== text[i]);
        const [first = 0, last = 0] = [changed[0], changed.at(-1)];
        expect(out.text.slice(first, last + 1)).toMatch(/^\*+$/);
        expect(first).toBeGreaterThanOrEqual(Buffer.byteLength(before) - ESCAPE);
        expect(last).toBeLessThan(text.length - Buffer.byteLength(after) + ESCAPE);
      }),
      { numRuns: 500 },
    );
  });

  it('a text without a form comes out as it went in', () => {
    const pieces = fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 8 });
    fc.assert(
      fc.property(secretText, pieces, (secret, parts) => {
        const text = Buffer.concat(parts).toString('latin1');
        expect(
          scrub(
            [secret],
            parts.map((part) => Buffer.from(part)),
          ),
        ).toEqual({ text, masked: 0 });
      }),
      { numRuns: 500 },
    );
  });

  it('a text made of the beginnings of a secret comes out as it went in', () => {
    const cases = secretText.chain((secret) =>
      fc.tuple(fc.constant(secret), fc.array(fc.nat({ max: 6 }), { maxLength: 12 })),
    );
    fc.assert(
      fc.property(cases, ([secret, lengths]) => {
        const parts = lengths.map((length) => Buffer.from(`${secret.slice(0, length)}\n`));
        expect(scrub([secret], parts)).toEqual({ text: Buffer.concat(parts).toString(), masked: 0 });
      }),
    );
  });
});

describe('what is held', () => {
  const HELD = 'secret-0123456789';
  /** The base64 forms are the longest: 22 symbols, and each may take 6 bytes. */
  const LONGEST = 22 * 6;
  const open = () => new Scrubber([new Secret(HELD)], 'e').body(TEXT);
  const push = (body: ReturnType<typeof open>, text: string, data = [0, text.length]) =>
    Buffer.concat(body.push(Buffer.from(text), data) as Buffer[]).toString();
  const letGo = (body: ReturnType<typeof open>) => Buffer.concat(body.letGo()).toString();

  it.each(['\n', '\r', '\r\n'])('is nothing at the end of a line, %j', (line) => {
    const body = open();
    for (const text of [`data: a${line}`, `data: my secr${line}`, `${HELD.slice(0, -1)}${line}${line}`]) {
      expect(push(body, text)).toBe(text);
      expect(body.mayLetGo).toBe(false);
    }
    expect(push(body, `${HELD}${line}se`)).toBe(`${'*'.repeat(HELD.length)}${line}`);
    expect(push(body, `cret-0123456789${line}`)).toBe(`${'*'.repeat(HELD.length)}${line}`);
  });

  it('is as long as the longest form could still be, and not a byte less or more', () => {
    const body = open();
    expect(push(body, 'x'.repeat(LONGEST - 1))).toBe('');
    expect(push(body, 'y')).toBe('x');
    expect(push(body, 'z'.repeat(1000)).length).toBe(1000);
    expect(letGo(body).length).toBe(LONGEST - 1);
  });

  it('is the same whatever the text is, and so says nothing of a secret', () => {
    const guess = fc.oneof(
      fc.nat({ max: HELD.length - 1 }).map((length) => HELD.slice(0, length)),
      fc.string({ maxLength: 40 }),
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(guess, fc.boolean())), (texts) => {
        const [body, other] = [open(), open()];
        for (const [text, pauses] of texts) {
          const blank = text.replace(/[^\r\n]/g, '.');
          expect(push(body, text).length).toBe(push(other, blank).length);
          expect(body.mayLetGo).toBe(other.mayLetGo);
          if (pauses) expect(letGo(body).length).toBe(letGo(other).length);
        }
      }),
    );
  });

  it('goes out at a pause whatever it is, and what follows is masked as far as it is here', () => {
    const body = open();
    expect(push(body, `so far: ${HELD.slice(0, 12)}`)).toBe('');
    expect(body.mayLetGo).toBe(true);
    expect(letGo(body)).toBe(`so far: ${HELD.slice(0, 12)}`);
    expect(body.mayLetGo).toBe(false);
    expect(push(body, `${HELD.slice(12)}!\n`)).toBe('*****!\n');
  });

  it('waits with the framing behind it, in order', () => {
    const body = open();
    expect(push(body, '6\r\nx\nsecr\r\n', [3, 9])).toBe('6\r\nx\n');
    expect(push(body, 'E\r\net-0123456789\n\r\n', [3, 17])).toBe('****\r\nE\r\n*************\n\r\n');
    expect(push(body, '3\r\nsec\r\n', [3, 6])).toBe('3\r\n');
    expect(push(body, '0\r\n', [])).toBe('');
    expect(Buffer.concat(body.end() as Buffer[]).toString()).toBe('sec\r\n0\r\n');
  });

  it('never grows past its measure, whatever comes', () => {
    const body = open();
    push(body, 'secret');
    const empty = `${'0'.repeat(1000)}`;
    let out = 0;
    for (let i = 0; i < 3_000; i++) out += push(body, empty, []).length;
    expect(out).toBeGreaterThan(1_000_000);
  });
});

/** Of a character in JSON. */
const ESCAPE = '\\u0000'.length;
