/** What it costs to read a body: one pass over its bytes, whatever they are, since everybody's calls wait for it. */
import { describe, expect, it } from 'vitest';
import { OPERATIONS } from '../../../gates/dialects/operations.ts';
import { readModelBody } from '../../../gates/read/model-call.ts';

const BYTES = 32 * 1024 * 1024;
/** Of processor time: about 100 on a machine at rest, and several times that where many share it. */
const MOST_MS = 1_500;

function fill(part: string, before: string, after: string): Buffer {
  const body = Buffer.alloc(BYTES, part);
  body.write(before);
  const end = before.length + Math.floor((BYTES - before.length - after.length) / part.length) * part.length;
  body.fill(part, before.length, end);
  body.write(after, end);
  return body.subarray(0, end + after.length);
}

const FIELD = '{"model":"m",';
const LIST = '{"model":"m","x":[';
const TEXT = '{"model":"m","x":"';
const BLOCKS = '{"model":"m","messages":[{"content":[';
const SOURCE = `${BLOCKS}{"source":{"media_type":"image/png",`;
const BODIES: Readonly<Record<string, Buffer>> = {
  'fields without a name': fill('"":1,', FIELD, '"z":1}'),
  'fields with a name that counts in other letters': fill('"\\u006d":1,', FIELD, '"z":1}'),
  'fields with long names': fill(`"${'\\u0061'.repeat(80)}":1,`, FIELD, '"z":1}'),
  'names without an end': fill('\\u0061', '{"model":"m","', '":1}'),
  'one number': fill('1', '{"model":"m","x":', '}'),
  'one limit': fill('1', '{"model":"m","max_tokens":', '}'),
  'one name of a model': fill('a', '{"model":"', '"}'),
  'numbers in a list': fill('1,', LIST, '1]}'),
  brackets: fill('[', '{"model":"m","x":', '}'),
  'brackets that close': fill('[],', LIST, '[]]}'),
  'empty texts': fill('"",', LIST, '1]}'),
  'long texts': fill(`"${'A'.repeat(1030)}",`, LIST, '1]}'),
  'long texts that say they are images': fill(`{"url":"data:a/b;base64,${'A'.repeat(1010)}"},`, LIST, '1]}'),
  'long texts that say they are data': fill(`{"data":"${'A'.repeat(1030)}"},`, LIST, '1]}'),
  'one image': fill('A', '{"model":"m","data":"', '"}'),
  spaces: fill(' ', '{"model":"m"', '}'),
  'spaces before a text': fill(`${' '.repeat(2_000)}"${'A'.repeat(1030)}",`, LIST, '1]}'),
  'escaped quotes': fill('\\"', TEXT, '"}'),
  'escaped escapes': fill('\\\\', TEXT, '"}'),
  'escapes and a quote': fill(`${'\\'.repeat(4_001)}"`, TEXT, '"}'),
  'blocks of messages': fill('{"tool":1},', BLOCKS, '1]}]}'),
  'blocks of messages without anything': fill('{},', BLOCKS, '1]}]}'),
  'blocks of messages with names that are not asked for': fill('{"":1},', BLOCKS, '1]}]}'),
  'blocks of messages with escaped names': fill('{"\\u006d":1},', BLOCKS, '1]}]}'),
  'blocks of messages in other letters': fill('{"Tool":{}},', BLOCKS, '1]}]}'),
  'images in messages': fill(
    `{"source":{"media_type":"image/png","data":"${'A'.repeat(1030)}"}},`,
    BLOCKS,
    '1]}]}',
  ),
  'one image with much beside it': fill(`"data":"${'A'.repeat(1030)}",`, SOURCE, '"z":1}}]}]}'),
  'objects of any name': fill('{"a":{"b":{}}},', '{"model":"m","guardrails":[', '1]}'),
  'tools with types': fill('{"type":"\\u0066"},', '{"model":"m","tools":[', '1]}'),
  'tools with models that are none': fill('{"model":""},', '{"model":"m","tools":[', '1]}'),
  words: fill('word ', TEXT, '"}'),
};

describe('to read the largest body takes no longer than one pass over it', () => {
  for (const [name, body] of Object.entries(BODIES)) {
    it(`of ${name}`, () => {
      const before = process.cpuUsage();
      readModelBody(body, OPERATIONS.message, null);
      const { user, system } = process.cpuUsage(before);
      expect((user + system) / 1_000).toBeLessThan(MOST_MS);
    });
  }
});
