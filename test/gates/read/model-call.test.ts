/** What is read of a model call's body, and what is not: bytes in, a few fields or a refusal out. */
import { describe, expect, it } from 'vitest';
import { OPERATIONS } from '../../../gates/dialects/operations.ts';
import { applyEdits } from '../../../gates/read/edit.ts';
import { type ModelBody, makeNameEdit, readModelBody } from '../../../gates/read/model-call.ts';

const { chat, respond, embed, message, countMessage, generate, streamGenerate } = OPERATIONS;

function read(
  body: string | Buffer,
  operation: (typeof OPERATIONS)[keyof typeof OPERATIONS] = chat,
): ModelBody {
  const named = operation.dialect === 'gemini' ? 'g' : null;
  const found = readModelBody(Buffer.from(body), operation, named);
  if ('refusal' in found) throw new Error(found.refusal);
  return found;
}

const GOOD: readonly (readonly [body: string, model: string, streamed: boolean])[] = [
  ['{"model":"m"}', 'm', false],
  ['\n {"stream" : true , "model"\t:\r\n"a\\u002fb"} ', 'a/b', true],
  ['{"mod\\u0065l":"m","x":{"model":"no","stream":true}}', 'm', false],
  ['{"a":"\\\\\\"","model":"m","b":[{"model":"no"}],"stream":false}', 'm', false],
  ['{"a":-1.5E+3,"b":null,"model":"漢","stream":null}', '漢', false],
  ['{"model":"m","x":{"Model":"no","max_tokens":1,"max_tokens":2}}', 'm', false],
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
  ['{"model":"m","\u017ftream":true}', 'body_malformed'],
  ['{"model":"m","max_to\\u212aens":9}', 'body_malformed'],
  ['{"model":"m","max_tokens":1,"max_tokens":99999}', 'body_malformed'],
  ['{"model":"m","Max_Tokens":99999}', 'body_malformed'],
  ['{"model":"m","stream_options":{"include_usage":true,"include_usage":false}}', 'body_malformed'],
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
    it(`is read: ${JSON.stringify(body)}`, () => expect(read(body)).toMatchObject({ model, streamed }));
  }
  for (const [body, reason] of BAD) {
    it(`is refused: ${JSON.stringify(body.slice(0, 60))}`, () => {
      expect(readModelBody(Buffer.from(body), chat, null)).toMatchObject({ refusal: reason });
    });
  }

  for (const [body, text] of [
    ['{"model":"m","Max_Tokens":9}', 'max_tokens is there twice, or in other letters'],
    ['{"model":"m","model":"n"}', 'model is there twice, or in other letters'],
    ['{"model":"m"', 'it is not one whole JSON object, or has too many fields'],
    ['{"model":"m","n":0}', 'n is not a positive whole number'],
  ] as const) {
    it(`says what is wrong: ${body}`, () => {
      const detail = { text };
      expect(readModelBody(Buffer.from(body), chat, null)).toEqual({ refusal: 'body_malformed', detail });
    });
  }

  it('has another name put in, and changes nowhere else', () => {
    const body = Buffer.from('{"a":"漢", "model" : "x\\u002fy" ,"big":123456789012345678901}');
    expect(makeNameEdit(read(body), 'x/y')).toBeNull();
    const edit = makeNameEdit(read(body), 'z"z');
    expect(applyEdits(body, edit ? [edit] : []).toString()).toBe(
      '{"a":"漢", "model" : "z\\"z" ,"big":123456789012345678901}',
    );
    expect(applyEdits(body, [])).toBe(body);
  });

  it('of a call whose path names the model names none, or the same', () => {
    expect(read('{"contents":[]}', generate)).toMatchObject({ model: 'g', modelSpan: null, streamed: false });
    expect(read('{"model":null,"stream":true}', streamGenerate).streamed).toBe(true);
    for (const model of ['g', 'models/g', 'model\\u0073/g'])
      expect(makeNameEdit(read(`{"model":"${model}"}`, generate), 'y')).toBeNull();
    expect(() => read('{"model":"g","model":"g"}', generate)).toThrow('body_malformed');
    expect(() => read('{"Model":"g"}', generate)).toThrow('body_malformed');
  });

  it('is streamed only where its dialect says so there', () => {
    for (const operation of [chat, respond, message])
      expect(read('{"model":"m","stream":true}', operation).streamed).toBe(true);
    for (const operation of [embed, countMessage])
      expect(read('{"model":"m","stream":true}', operation).streamed).toBe(false);
    expect(read('{"stream":true}', generate).streamed).toBe(false);
  });
});

const LIMITS: readonly (readonly [
  body: string,
  operation: (typeof OPERATIONS)[keyof typeof OPERATIONS],
  maxOutput: number | null,
  answers: number,
])[] = [
  ['{"model":"m"}', chat, null, 1],
  ['{"model":"m","max_tokens":100,"n":3}', chat, 100, 3],
  ['{"model":"m","max_completion_tokens":200,"max_tokens":100}', chat, 200, 1],
  ['{"model":"m","max_tokens":null,"n":null}', chat, null, 1],
  ['{"model":"m","max_tokens":99999999999999999999}', chat, 100_000_000, 1],
  ['{"model":"m","max_output_tokens":7,"max_tokens":9}', respond, 7, 1],
  ['{"model":"m","max_tokens":9,"n":5,"N":5}', message, 9, 1],
  ['{"model":"m","max_tokens":9}', embed, null, 1],
  ['{"generationConfig":{"maxOutputTokens":50,"candidateCount":2}}', generate, 50, 2],
  ['{"generation_config": {"max_output_tokens" :51 }}', streamGenerate, 51, 1],
  ['{"maxOutputTokens":50}', generate, null, 1],
  ['{"generationConfig":null}', generate, null, 1],
];

describe('the limits of a call', () => {
  for (const [body, operation, maxOutput, answers] of LIMITS)
    it(`are read: ${operation.dialect} ${body}`, () =>
      expect(read(body, operation)).toMatchObject({ maxOutput, answers }));
});

const NO_COUNTS = [
  '-0',
  '-1.5',
  '00',
  '1e3',
  '10.5',
  '10.0',
  '007',
  '+5',
  '"300"',
  '"\\u0031000000"',
  '"x"',
  '[5]',
  '{}',
  'true',
  'NaN',
  '1e999',
  `100000.${'0'.repeat(66)}`,
  '9'.repeat(65),
];
const COUNTED: readonly (readonly [
  operation: (typeof OPERATIONS)[keyof typeof OPERATIONS],
  name: string,
  write: (value: string) => string,
])[] = [
  [chat, 'max_tokens', (value) => `{"model":"m","max_tokens":${value}}`],
  [chat, 'max_completion_tokens', (value) => `{"model":"m","max_tokens":1,"max_completion_tokens":${value}}`],
  [chat, 'n', (value) => `{"model":"m","n":${value}}`],
  [respond, 'max_output_tokens', (value) => `{"model":"m","max_output_tokens": ${value} }`],
  [message, 'max_tokens', (value) => `{"model":"m","max_tokens":${value}}`],
  [generate, 'maxOutputTokens', (value) => `{"generationConfig":{"maxOutputTokens":${value}}}`],
  [streamGenerate, 'candidate_count', (value) => `{"generation_config":{"candidate_count":${value}}}`],
];

describe('a limit of no tokens, or of less', () => {
  it('is a count where Anthropic only writes its cache', () => {
    for (const operation of [message, countMessage])
      expect(read('{"model":"m","max_tokens":0}', operation)).toMatchObject({ maxOutput: 0, negative: null });
    for (const [operation, body] of [
      [chat, '{"model":"m","max_tokens":0}'],
      [respond, '{"model":"m","max_output_tokens":0}'],
      [generate, '{"generationConfig":{"maxOutputTokens":0}}'],
    ] as const)
      expect(() => read(body, operation)).toThrow('body_malformed');
  });

  it('is told of where it is below zero, and counts as not said', () => {
    for (const [operation, body, negative] of [
      [chat, '{"model":"m","max_tokens":-1}', 'max_tokens'],
      [chat, '{"model":"m","max_tokens":9,"max_completion_tokens":-2}', 'max_completion_tokens'],
      [respond, '{"model":"m","max_output_tokens":-1}', 'max_output_tokens'],
      [message, '{"model":"m","max_tokens":-100}', 'max_tokens'],
      [generate, '{"generationConfig":{"maxOutputTokens":-1}}', 'maxOutputTokens'],
    ] as const)
      expect(read(body, operation)).toMatchObject({ maxOutput: null, negative });
    for (const body of ['{"model":"m","n":-1}', '{"model":"m","n":0}'])
      expect(() => read(body)).toThrow('body_malformed');
  });
});

describe('what counts and is not as every provider reads it', () => {
  const reasonOf = (body: string, operation: (typeof OPERATIONS)[keyof typeof OPERATIONS]) =>
    readModelBody(Buffer.from(body), operation, operation.dialect === 'gemini' ? 'g' : null);

  for (const [operation, name, writeOf] of COUNTED) {
    it(`is refused: a limit that is no count: ${operation.dialect} ${name}`, () => {
      for (const value of NO_COUNTS)
        expect([value, reasonOf(writeOf(value), operation)]).toEqual([
          value,
          { refusal: 'body_malformed', detail: { text: `${name} is not a positive whole number` } },
        ]);
    });
  }

  it('is refused: a switch that is neither on nor off', () => {
    for (const value of ['"true"', '1', '0', '"yes"', '[]', '{}', 'True', 'yes']) {
      for (const operation of [chat, respond, message])
        expect(reasonOf(`{"model":"m","stream":${value}}`, operation)).toMatchObject({
          detail: { text: 'stream is not true or false' },
        });
      expect(
        reasonOf(`{"model":"m","stream":true,"stream_options":{"include_usage":${value}}}`, chat),
      ).toMatchObject({ detail: { text: 'include_usage is not true or false' } });
    }
    for (const value of ['[]', '"x"', '1', 'true'])
      for (const body of [`{"model":"m","stream_options":${value}}`, `{"generationConfig":${value}}`])
        expect(reasonOf(body, body.includes('model') ? chat : generate)).toMatchObject({
          refusal: 'body_malformed',
          detail: { text: expect.stringContaining('is not an object') },
        });
  });

  it('is refused: one field in both spellings', () => {
    for (const body of [
      '{"generationConfig":{"maxOutputTokens":1},"generation_config":{"maxOutputTokens":100000}}',
      '{"generationConfig":{"candidateCount":1},"generation_config":null}',
      '{"generationConfig":{"maxOutputTokens":1,"max_output_tokens":100000}}',
      '{"generation_config":{"candidate_count":1,"candidateCount":8}}',
    ])
      expect(reasonOf(body, generate)).toEqual({
        refusal: 'body_malformed',
        detail: { text: 'a field is there in both of its spellings' },
      });
  });

  it('is refused: an answer that would come later', () => {
    expect(reasonOf('{"model":"m","background":true}', respond)).toEqual({
      refusal: 'body_malformed',
      detail: { text: 'background is not served: its usage would come later' },
    });
    expect(reasonOf('{"model":"m","background":1}', respond)).toMatchObject({ refusal: 'body_malformed' });
    for (const value of ['false', 'null'])
      expect(read(`{"model":"m","background":${value}}`, respond).model).toBe('m');
    expect(read('{"model":"m","background":true}', chat).model).toBe('m');
  });
});

const USAGE: readonly (readonly [body: string, edited: string | null])[] = [
  ['{"stream":true , "model":"m"}', '{"stream":true,"stream_options":{"include_usage":true} , "model":"m"}'],
  ['{"model":"m","stream":true}', '{"model":"m","stream":true,"stream_options":{"include_usage":true}}'],
  [
    '{"model":"m","stream":true,"stream_options":null}',
    '{"model":"m","stream":true,"stream_options":{"include_usage":true}}',
  ],
  [
    '{"model":"m","stream":true,"stream_options":{ }}',
    '{"model":"m","stream":true,"stream_options":{"include_usage":true }}',
  ],
  [
    '{"model":"m","stream":true,"stream_options": {"x":[1] }}',
    '{"model":"m","stream":true,"stream_options": {"include_usage":true,"x":[1] }}',
  ],
  [
    '{"model":"m","stream":true,"stream_options":{"include_usage" : false,"x":1}}',
    '{"model":"m","stream":true,"stream_options":{"include_usage" : true,"x":1}}',
  ],
  ['{"model":"m","stream":true,"stream_options":{"include_usage":true}}', null],
  ['{"model":"m","stream":false}', null],
  ['{"model":"m"}', null],
];

describe('the usage that a stream does not tell unasked', () => {
  for (const [body, edited] of USAGE) {
    it(`is asked for: ${body}`, () => {
      const { usageEdit } = read(body);
      expect(usageEdit && applyEdits(Buffer.from(body), [usageEdit]).toString()).toBe(edited);
    });
  }

  it('goes together with another name', () => {
    const body = '{"stream":true,"model":"m"}';
    const found = read(body);
    const edits = [makeNameEdit(found, 'n'), found.usageEdit].filter((edit) => edit !== null);
    expect(applyEdits(Buffer.from(body), edits).toString()).toBe(
      '{"stream":true,"stream_options":{"include_usage":true},"model":"n"}',
    );
  });

  it('is told by the other dialects anyway', () => {
    for (const operation of [respond, message])
      expect(read('{"model":"m","stream":true}', operation).usageEdit).toBeNull();
    expect(read('{"stream":true}', streamGenerate).usageEdit).toBeNull();
  });
});

describe('the estimate of what a call gives to read', () => {
  const body = (text: string) => JSON.stringify({ model: 'm', messages: [{ role: 'user', content: text }] });

  it('grows with the text, in every script', () => {
    for (const text of [
      'a word or two '.repeat(500),
      '漢字かな'.repeat(500),
      '{\\"a\\":1,\\n}'.repeat(500),
    ]) {
      const bytes = Buffer.byteLength(body(text));
      expect(read(body(text)).inputEstimate).toBe(Math.ceil(bytes / 3));
    }
  });
});
