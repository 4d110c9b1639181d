/** What an answer's bytes pass looks at each byte a few times only: a mebibyte of one short text costs no more than another. */
import { describe, expect, it } from 'vitest';
import { EventGuard } from '../../../gates/act/event-guard.ts';
import { SecretMask, SecretSearch } from '../../../gates/act/mask.ts';
import { UsageFilter } from '../../../gates/act/usage-filter.ts';
import { Meter } from '../../../gates/meter.ts';

const SECRET = Buffer.from('sk-canary-linear');
const PARTS: Readonly<Record<string, () => (chunk: Buffer) => unknown>> = {
  'the guard of events': () => {
    const guard = new EventGuard();
    return (chunk) => guard.write(chunk);
  },
  'the filter of usage': () => {
    const filter = new UsageFilter();
    return (chunk) => filter.write(chunk);
  },
  'the mask': () => {
    const mask = new SecretMask([SECRET]);
    return (chunk) => mask.write(chunk);
  },
  'the search': () => {
    const search = new SecretSearch([SECRET]);
    return (chunk) => search.scan(chunk);
  },
  'the meter': () => {
    const meter = new Meter('openai', 'text/event-stream', '', 'ses_1');
    return (chunk) => meter.see(chunk);
  },
  'the meter of Responses': () => {
    const meter = new Meter('responses', 'text/event-stream', '', 'ses_1');
    return (chunk) => meter.see(chunk);
  },
};
const TEXTS = [
  '\n',
  '\r',
  '\r\n',
  'a\n\n',
  'a\r\r',
  'a\r\n\r\n',
  'a\n',
  'a\r',
  ':\n\n',
  'data:\n',
  'data: "usage"\n\n',
  'data: {"usage":{"a":1}}\n\n',
  'data: {"choices":[],"usage":{}}\n\n',
  '"choices":[ ',
  '"usage":1,',
  '"usage":{',
  '"choices"  ',
  'id\r',
  'id:1\n',
  'retry',
  '\nretry: 1\r',
  'x',
  ' ',
];

describe('linear', () => {
  for (const [name, make] of Object.entries(PARTS)) {
    for (const text of TEXTS) {
      it(`${name}: ${JSON.stringify(text)}`, () => {
        // Its last byte is none of the text's, so that no shorter way is taken.
        const all = Buffer.from(`${text.repeat(Math.ceil(SIZE / text.length))}\n\n"usage"x`);
        for (const size of [all.length, 64 * 1024 - 1]) {
          const write = make();
          const from = performance.now();
          for (let at = 0; at < all.length; at += size) write(all.subarray(at, at + size));
          // Under load, too. What is quadratic takes many times that.
          expect(performance.now() - from).toBeLessThan(6_000);
        }
      });
    }
  }
});

const SIZE = 1024 * 1024;
