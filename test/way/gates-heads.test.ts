/** Heads and names of model calls that reach no provider: what is refused, in the shape of its dialect, and why. */
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DIALECTS } from '../../core-lite/state/dialect.ts';
import { putModel, startTestGates, type TestGates, type TestRun } from '../support/gates.ts';
import { type Provider, startProvider } from '../support/provider.ts';

let provider: Provider;
let gates: TestGates;
let run: TestRun;

beforeAll(async () => {
  provider = await startProvider('heads.test', { plain: true });
  gates = await startTestGates([provider]);
  await putModel(gates, 'm', provider, { dialects: DIALECTS });
  const google = {
    provider: 'google',
    baseUrl: `http://${provider.host}:${provider.port}`,
    dialects: ['openai'],
  };
  await gates.world.call('PUT', '/v1/models/google', google);
  const behind = { ...google, provider: 'custom', fallbacks: ['google'] };
  await gates.world.call('PUT', '/v1/models/behind', behind);
  run = await gates.run();
  provider.behave = (_asked, response) => void response.end('{"ok":1}');
}, 60_000);
afterAll(async () => {
  expect(provider.asked).toEqual([]);
  await gates?.close();
  await provider?.close();
});

const ask = (path: string, body: string, headers: Readonly<Record<string, string>> = {}) =>
  gates.ask(path, { headers: { authorization: `Bearer ${run.token}`, ...headers }, body });

/** A request as its bytes are. */
function send(target: string, lines: readonly string[] = []): Promise<string> {
  const { host, port } = gates.gates.address;
  const plain = '{"model":"m"}';
  const chunked = lines.some((line) => line.startsWith('Transfer-Encoding'));
  const body = chunked ? `d\r\n${plain}\r\n0\r\n\r\n` : plain;
  const head = [`POST ${target} HTTP/1.1`, 'Host: localhost', `Authorization: Bearer ${run.token}`, ...lines];
  return new Promise((resolve, reject) => {
    const socket = connect(port, host).on('error', reject);
    let text = '';
    socket.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
    });
    socket.on('close', () => resolve(text));
    const end = ['Connection: close', ...(chunked ? [] : [`Content-Length: ${body.length}`])];
    socket.write(`${[...head, ...end].join('\r\n')}\r\n\r\n${body}`);
  });
}

describe('a model call', () => {
  it('is refused with what would lose its usage', async () => {
    const path = '/v1beta/models/m:generateContent';
    for (const [query, headers] of [
      ['?fields=candidates', {}],
      ['?$fields=candidates', {}],
      ['?alt=proto', {}],
      ['?callback=f', {}],
      ['', { 'X-Goog-FieldMask': 'candidates' }],
    ] as const) {
      const reply = await ask(path + query, '{}', headers);
      expect([query, reply.status, reply.headers['sallyport-reason']]).toEqual([
        query,
        400,
        'request_malformed',
      ]);
      expect(JSON.parse(reply.text).error).toMatchObject({
        status: 'INVALID_ARGUMENT',
        message: expect.stringContaining('is not served'),
      });
    }
    for (const path of ['/v1/chat/completions', '/v1/messages', '/v1beta/models/m:generateContent']) {
      const reply = await ask(`${path}?model=other`, path.includes('models/') ? '{}' : '{"model":"m"}');
      expect([path, reply.status, reply.headers['sallyport-reason']]).toEqual([
        path,
        400,
        'request_malformed',
      ]);
    }
    const further = await ask('/v1/messages', '{"model":"m","tools":[{"model":"x","type":"advisor_1"}]}');
    expect([further.status, JSON.parse(further.text).error.code]).toEqual([400, 'further_model']);
    expect(further.text).toContain('a further model: tools.model; leave that field out');
    const later = await ask('/v1/responses', '{"model":"m","background":true}');
    expect([later.status, JSON.parse(later.text).error.code]).toEqual([400, 'body_malformed']);
    expect(later.text).toContain('background is not served: its usage would come later');
  });

  it('is refused with what would lose its usage where it goes to Google, whatever is spoken', async () => {
    for (const [query, headers] of [
      ['?fields=choices', {}],
      ['?%66ields=choices', {}],
      ['?$fields=choices', {}],
      ['?callback=f', {}],
      ['', { 'X-Goog-FieldMask': 'choices' }],
    ] as const) {
      for (const model of ['google', 'behind']) {
        const reply = await ask(`/v1/chat/completions${query}`, `{"model":"${model}"}`, headers);
        expect([query, reply.status, reply.headers['sallyport-reason']]).toEqual([
          query,
          400,
          'request_malformed',
        ]);
        expect(reply.text).toContain('is not served');
      }
    }
  });

  it('is refused with a limit below zero where it goes to others than a server of one’s own', async () => {
    const limited = '{"model":"google","max_tokens":-1}';
    const reply = await ask('/v1/chat/completions', limited);
    expect([reply.status, reply.headers['sallyport-reason']]).toEqual([400, 'body_malformed']);
    expect(reply.text).toContain('max_tokens is not a positive whole number');
    const echo = await ask('/v1/chat/completions', '{"model":"fixture/echo","max_tokens":-1,"messages":[]}');
    expect([echo.status, echo.headers['sallyport-reason']]).toEqual([400, 'body_malformed']);
  });

  it('is refused with a body that is coded in two ways, and with a fragment', async () => {
    const twice = await send('/v1/messages', ['Content-Encoding: identity', 'Content-Encoding: br']);
    const folded = await send('/v1/messages', ['Content_Encoding: gzip']);
    const fragment = await send('/v1/messages#/v1/files');
    const behind = await send('/v1/messages?a=1#x');
    for (const reply of [twice, folded, fragment, behind]) {
      expect(reply).toMatch(/^HTTP\/1.1 400 /);
      expect(reply.toLowerCase()).toContain('sallyport-reason: request_malformed');
    }
  });

  it('is refused with a body that is sent in more than chunks, wherever it goes', async () => {
    const unknown = '/v1beta/models/nobody:generateContent';
    for (const target of ['/v1/messages', unknown, '/v1/http-calls/t', '/v1/nowhere']) {
      for (const lines of [
        ['Transfer-Encoding: gzip, chunked'],
        ['Transfer-Encoding: deflate,\tCHUNKED'],
        ['Transfer-Encoding: identity, chunked'],
        ['Transfer-Encoding: gzip', 'Transfer-Encoding: chunked'],
        ['Transfer-Encoding: ,chunked'],
      ]) {
        const reply = await send(target, lines);
        expect([target, lines, reply.slice(0, 13)]).toEqual([target, lines, 'HTTP/1.1 400 ']);
      }
    }
    // What is in chunks alone is read: it names two models.
    for (const line of ['Transfer-Encoding: chunked', 'Transfer-Encoding:  Chunked '])
      expect((await send(unknown, [line])).toLowerCase()).toContain('sallyport-reason: further_model');
  });

  it('of a name with a zero byte is one of a model that nobody has', async () => {
    run = await gates.run();
    const replies = [
      await ask('/v1/chat/completions', '{"model":"m\\u0000"}'),
      await ask('/v1beta/models/m%00:generateContent', '{}'),
      await gates.ask('/v1/models/m%00', {
        method: 'GET',
        headers: { authorization: `Bearer ${run.token}` },
      }),
    ];
    for (const { status, headers } of replies)
      expect([status, headers['sallyport-reason']]).toEqual([404, 'model_unknown']);
    const rows = await gates.usage(run, 2);
    expect(rows.map(({ outcome, model }) => [outcome, model])).toEqual(
      Array(2).fill(['model_unknown', 'm\ufffd']),
    );
  });
});
