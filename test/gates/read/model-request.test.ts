/** Heads of model calls that are refused: raw headers and a query in, a line or nothing out. */
import { describe, expect, it } from 'vitest';
import { requestHeaders } from '../../../gates/act/headers.ts';
import { isJsonHead, judgeGoogleHead, judgeModelHead } from '../../../gates/read/model-request.ts';

const CODING = 'Content-Encoding is there more than once, or in another spelling';
const CODED: readonly (readonly string[])[] = [
  ['Content-Encoding', 'identity', 'content-encoding', 'br'],
  ['content-encoding', 'gzip', 'Content-Encoding', 'gzip'],
  ['Content_Encoding', 'gzip'],
  ['content.encoding', 'gzip', 'content-encoding', 'gzip'],
];
const QUERIES = [
  ...['?fields=candidates', '?%66ields=x', '?Fields=x', '?fields', '?a=1&fields='],
  ...['?$fields=x', '?%24fields=x', '?callback=x', '?$callback=x', '?$httpMethod=GET', '?$.xgafv=2'],
  ...['?alt=proto', '?$alt=proto', '?alt=media', '?alt=', '?alt', '?alt=sse&alt=proto', '?a%6ct=p%72oto'],
  ...['?access_token=x', '?oauth_token=x'],
];

describe('the head of a model call', () => {
  it('is refused where the body is coded in two ways', () => {
    for (const headers of CODED)
      for (const google of [true, false]) expect(judgeModelHead(headers, '', google)).toBe(CODING);
    expect(judgeModelHead(['Content-Encoding', 'br', 'Content-Type', 'x'], '', true)).toBeNull();
  });

  for (const query of QUERIES) {
    it(`of Google’s dialect is refused: ${query}`, () => {
      expect(judgeModelHead([], query, true)).toMatch(/^the query’s [$\w]+ is not served as it is$/);
      expect(judgeGoogleHead([], query)).toBe(judgeModelHead([], query, true));
      expect(judgeModelHead([], query, false)).toBeNull();
    });
  }

  it('of Google’s dialect is refused: a mask of fields', () => {
    for (const name of ['X-Goog-FieldMask', 'x-goog-fieldmask', 'X_Goog_FieldMask'])
      expect(judgeModelHead([name, 'candidates'], '', true)).toBe('X-Goog-FieldMask is not served');
  });

  for (const query of [
    '?model=x',
    '?a=1&model',
    '?Model=',
    '?%6dodel=x',
    '?models=x',
    '?model[]=x',
    '?$model=x',
  ]) {
    it(`is refused in every dialect: ${query}`, () => {
      for (const google of [true, false])
        expect(judgeModelHead([], query, google)).toBe('the query’s model is not served');
    });
  }

  it('tells of JSON in UTF-8, or of nothing', () => {
    for (const type of [
      ...[
        'application/json',
        'Application/JSON',
        'application/json; charset=utf-8',
        'application/json;charset=UTF-8',
      ],
      ...['application/json ; charset="utf-8"', 'application/vnd.api+json', 'application/json;'],
    ])
      expect([type, isJsonHead(['Content-Type', type])]).toEqual([type, true]);
    expect(isJsonHead([])).toBe(true);
    expect(isJsonHead(['Content-Type', 'application/json', 'content-type', 'application/json'])).toBe(true);
    for (const type of [
      ...['', 'text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'json'],
      ...['application/x-protobuf', 'application/json; charset=utf-7', 'application/json; charset=utf-16'],
      ...[
        'application/json, text/plain',
        'application/json; charset=utf-8; charset=utf-7',
        'application/jsonp',
      ],
      ...['text/json', 'application/json-seq', 'application/+json', 'application/json; boundary=x'],
    ])
      for (const lines of [
        ['Content-Type', type],
        ['Content-Type', 'application/json', 'content-type', type],
        ['Content_Type', type, 'content-type', 'application/json'],
      ])
        expect([lines, isJsonHead(lines)]).toEqual([lines, false]);
  });

  it('passes with everything else', () => {
    for (const query of [
      '',
      '?',
      '?alt=sse',
      '?alt=json&key=x',
      '?$alt=json%3Benum-encoding%3Dint',
      '?prettyPrint=false',
      '?x=fields',
      '?x=model&mode=y&model_version=z',
      '?beta=true',
    ])
      expect(judgeModelHead(['x-goog-api-client', 'x'], query, true)).toBeNull();
  });

  it('loses what would make another call of it', () => {
    for (const name of [
      ...['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override', 'x_http_method_override'],
      ...[
        'x-portkey-config',
        'X_Portkey_Provider',
        'Helicone-Fallbacks',
        'helicone-target-url',
        'x-litellm-tags',
      ],
      ...['X-Original-URL', 'X-Rewrite-URL', 'X.Original.URL', 'X-Original-URI', 'X-Forwarded-Uri'],
    ])
      expect(requestHeaders([name, '/v1/files', 'x-a', 'b'], 'T', [])).toEqual(['x-a', 'b']);
  });
});
