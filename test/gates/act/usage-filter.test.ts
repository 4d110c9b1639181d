/** The event that tells only the usage is left out, however the stream is cut; every other byte passes. */
import { describe, expect, it } from 'vitest';
import { UsageFilter } from '../../../gates/act/usage-filter.ts';

function pass(stream: string, size: number): string {
  const filter = new UsageFilter();
  const bytes = Buffer.from(stream);
  const out: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) out.push(filter.write(bytes.subarray(at, at + size)));
  out.push(filter.end());
  return Buffer.concat(out).toString();
}

const delta =
  'data: {"id":"c","choices":[{"delta":{"content":"漢 \\"usage\\":{}, \\"choices\\":[]"}}],"usage":null}\n\n';
const usage = 'data: {"id":"c","choices":[],"usage":{"prompt_tokens":3,"x":{"y":1}}}\n\n';
const done = 'data: [DONE]\n\n';
const ROWS: readonly (readonly [name: string, stream: string, passed: string])[] = [
  ['the usage comes last', delta + usage + done, delta + done],
  [
    'it comes last but one',
    `${delta}${usage}data: {"choices":[]}\n\n${done}`,
    `${delta}data: {"choices":[]}\n\n${done}`,
  ],
  ['it comes first', usage + delta + done, delta + done],
  ['it comes twice', usage + delta + usage, delta],
  ['odd spaces', `${delta}data:{ "choices" : [ ] ,\t"usage" : { } }\n\n${done}`, delta + done],
  [
    'lines end in CRLF',
    (delta + usage + done).replaceAll('\n', '\r\n'),
    (delta + done).replaceAll('\n', '\r\n'),
  ],
  ['data in several lines', `${delta}data: {"choices":[],\ndata: "usage":{}}\n\n${done}`, delta + done],
  ['a comment in the event', `: x\nevent: y\n${usage}${done}`, done],
  ['a comment before the event', `: x\n\n${usage}${done}`, `: x\n\n${done}`],
  ['empty lines', `\n\n${usage}\n${done}\n`, `\n\n\n${done}\n`],
  ['no end', delta + usage.trimEnd(), delta],
  ['half an end', delta + usage.slice(0, -1), delta],
  ['half an end with CRLF', delta + usage.replaceAll('\n', '\r\n').slice(0, -1), delta],
  ['an end in its middle', delta + usage.slice(0, -12), delta],
  ['an end in its middle, told before its choices', `${delta}data: {"usage":{"a":1},"cho`, delta],
];
const KEPT: readonly (readonly [name: string, stream: string])[] = [
  ['no usage', delta + done],
  ['usage beside choices', `data: {"choices":[{"finish_reason":"stop"}],"usage":{"a":1}}\n\n${done}`],
  ['no choices and no usage', `data: {"choices":[],"prompt_filter_results":[],"usage":null}\n\n${done}`],
  ['no choices at all', `data: {"usage":{"a":1}}\n\n${done}`],
  ['an inner usage', `data: {"choices":[],"x":{"usage":{"a":1}}}\n\n`],
  ['no JSON', `data: "choices":[],"usage":{}\n\ndata: {"choices":[],"usage":{}\n\n`],
  ['a long event', `data: {"x":"${'y'.repeat(40_000)}","choices":[],"z":"usage"}\n\n${done}`],
  ['lone CR', `${delta}${usage}${done}`.replaceAll('\n', '\r')],
  ['an end in the middle', 'data: {"choi'],
  ['another that has no end', `${delta}data: {"usage":{"a":1}}`],
  ['the last one without its end', delta + done.trimEnd()],
  ['nothing', ''],
];

describe('the event of the usage', () => {
  for (const [name, stream, passed] of ROWS)
    it(`is left out: ${name}`, () => {
      for (const size of [1, 2, 3, 7, 64, 1 << 20]) expect(pass(stream, size)).toBe(passed);
    });
  for (const [name, stream] of KEPT)
    it(`is no other event: ${name}`, () => {
      for (const size of [1, 2, 3, 7, 64, 1 << 20]) expect(pass(stream, size)).toBe(stream);
    });

  it('holds no event back that has ended, and none that is another', () => {
    const filter = new UsageFilter();
    expect(filter.write(Buffer.from(delta)).toString()).toBe(delta);
    const begun = 'data: {"choices":[{"delta":';
    expect(filter.write(Buffer.from(begun)).toString()).toBe(begun);
    expect(filter.write(Buffer.from('{"content":"x"')).toString()).toBe('{"content":"x"');
    expect(filter.write(Buffer.from(`}}]}\n\n${usage}data`)).toString()).toBe('}}]}\n\n');
    expect(filter.write(Buffer.from(': [DONE]\n\n')).toString()).toBe(done);
  });
});
