/** Which bodies are looked at, and how, by their headers. */
import { describe, expect, it } from 'vitest';
import { makeLine } from '../../../egress/http1/write-head.ts';
import { contentOf, isStreamed } from '../../../egress/scrub/content.ts';

const of = (type?: string, coding?: string, status = 200) =>
  contentOf(status, [
    ...(type === undefined ? [] : [makeLine('Content-Type', type)]),
    ...(coding === undefined ? [] : [makeLine('Content-Encoding', coding)]),
  ]);

describe('content', () => {
  it.each([
    undefined,
    '',
    'unreadable',
    'text/html',
    'Text/Event-Stream; charset=utf-8',
    'application/json',
    'application/problem+json; charset=utf-8',
    'image/svg+xml',
    'application/x-ndjson',
    'application/javascript',
    'application/x-www-form-urlencoded',
    'multipart/byteranges; boundary=x',
  ])('of type %j is text', (type) => {
    expect(of(type)).toBe('text');
  });

  it.each([
    'application/octet-stream',
    'image/png',
    'application/grpc',
    'application/gzip',
    'application/jsonx',
    'video/mp4',
  ])('of type %j is not', (type) => {
    expect(of(type)).toBe('other');
  });

  it.each([
    ['gzip', 200, 'gzip'],
    ['x-gzip', 200, 'gzip'],
    ['Deflate', 200, 'deflate'],
    ['br', 200, 'br'],
    ['zstd', 200, 'zstd'],
    ['identity', 200, 'text'],
    ['', 200, 'text'],
    ['identity, gzip', 200, 'gzip'],
    ['utf-8', 200, 'text'],
    ['none, gzip', 200, 'gzip'],
    ['gzip, br', 200, 'text'],
    ['compress', 200, 'text'],
    ['gzip', 206, 'text'],
    ['identity', 206, 'text'],
  ])('coded %j with status %i is %s', (coding, status, content) => {
    expect(of('text/plain', coding, status)).toBe(content);
    expect(of('image/png', coding, status)).toBe('other');
  });
});

describe('what comes piece by piece', () => {
  it.each([
    'text/event-stream',
    'Text/Event-Stream ; charset=utf-8',
    'application/x-ndjson',
    'application/ndjson',
    'application/jsonl; charset=utf-8',
    'application/json-seq',
    'application/stream+json',
    'multipart/mixed; boundary=x',
    'multipart/x-mixed-replace;boundary="y"',
  ])('is of type %s', (type) => {
    expect(isStreamed([makeLine('Content-Type', type)])).toBe(true);
    expect(of(type)).toBe('text');
  });

  it.each([
    'application/json',
    'text/plain',
    'text/event-streams',
    'multipart/form-data; boundary=mixed',
    '',
  ])('is not of type %j', (type) => {
    expect(isStreamed([makeLine('Content-Type', type)])).toBe(false);
  });
});
