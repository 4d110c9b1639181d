/** What is read of a model call's body, and what is not: bytes in, two fields or a refusal out. */
import { describe, expect, it } from 'vitest';
import { OPERATIONS } from '../../../gates/dialects/operations.ts';
import { readModelBody, renameModel } from '../../../gates/read/model-call.ts';

const GOOD: readonly (readonly [body: string, model: string, streamed: boolean])[] = [
  ['{"model":"m"}', 'm', false],
  ['\n {"stream" : true , "model"\t:\r\n"a\\u002fb"} ', 'a/b', true],
  ['{"mod\\u0065l":"m","x":{"model":"no","stream":true}}', 'm', false],
  ['{"a":"\\\\\\"","model":"m","b":[{"model":"no"}],"stream":false}', 'm', false],
  ['{"a":-1.5E+3,"b":null,"model":"漢","stream":"true"}', '漢', false],
];
const BAD: readonly (readonly [body: string, reason: string])[] = [
  ['', 'body_malformed'],
  ['[]', 'body_malformed'],
  ['null', 'body_malformed'],
  ['{"model":"m"', 'body_malformed'],
  ['{"model":"m"}x', 'body_malformed'],
  ['{"model":"m"}{"model":"n"}', 'body_malformed'],
  ['{"model":"m",}', 'body_malformed'],
  ['{model:"m"}', 'body_malformed'],
  ['{"model" "m"}', 'body_malformed'],
  ['{"model":"m","model":"n"}', 'body_malformed'],
  ['{"model":"m","mod\\u0065l":"n"}', 'body_malformed'],
  ['{"model":"m","MODEL":"n"}', 'body_malformed'],
  ['{"model":"m","stream":true,"stream":false}', 'body_malformed'],
  ['{"model":"m","a":"', 'body_malformed'],
  ['{"model":"m","a":"\\"}', 'body_malformed'],
  ['{"model":"m","a":[[}', 'body_malformed'],
  [`{"a":${'['.repeat(200_000)}`, 'body_malformed'],
  ['{}', 'model_missing'],
  ['{"model":5}', 'model_missing'],
  ['{"model":""}', 'model_missing'],
  ['{"model":{"model":"m"}}', 'model_missing'],
];

describe('the body of a model call', () => {
  for (const [body, model, streamed] of GOOD) {
    it(`is read: ${JSON.stringify(body)}`, () => {
      expect(readModelBody(Buffer.from(body), OPERATIONS.chat, null)).toMatchObject({ model, streamed });
    });
  }
  for (const [body, reason] of BAD) {
    it(`is refused: ${JSON.stringify(body.slice(0, 60))}`, () => {
      expect(readModelBody(Buffer.from(body), OPERATIONS.chat, null)).toBe(reason);
    });
  }

  it('is the very same bytes under the same name, and changes nowhere else', () => {
    const body = Buffer.from('{"a":"漢", "model" : "x\\u002fy" ,"big":123456789012345678901}');
    const read = readModelBody(body, OPERATIONS.chat, null);
    if (typeof read === 'string') throw new Error(read);
    expect(renameModel(body, read, 'x/y')).toBe(body);
    expect(renameModel(body, read, 'z"z').toString()).toBe(
      '{"a":"漢", "model" : "z\\"z" ,"big":123456789012345678901}',
    );
  });
});
