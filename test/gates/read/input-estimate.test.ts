/** What is reserved for what a body gives to read: media only where its dialect takes them and they are said to be such. */
import { describe, expect, it } from 'vitest';
import { OPERATIONS } from '../../../gates/dialects/operations.ts';
import { readModelBody } from '../../../gates/read/model-call.ts';

type Operation = (typeof OPERATIONS)[keyof typeof OPERATIONS];
const { chat, respond, embed, message, generate } = OPERATIONS;
const DATA = Buffer.alloc(30_000, 'not random but long enough \x00\xff').toString('base64');
const IMAGE = `data:image/png;base64,${DATA}`;

function estimate(operation: Operation, fields: object | string): number {
  const text =
    typeof fields === 'string'
      ? fields
      : JSON.stringify(operation.dialect === 'gemini' ? fields : { model: 'm', ...fields });
  const read = readModelBody(Buffer.from(text), operation, operation.dialect === 'gemini' ? 'g' : null);
  if ('refusal' in read) throw new Error(read.refusal);
  return read.inputEstimate;
}

const say = (...content: readonly object[]) => ({ messages: [{ role: 'user', content }] });
const item = (...input: readonly object[]) => ({ input });
const tell = (...parts: readonly object[]) => ({ contents: [{ parts }] });
const source = { type: 'base64', media_type: 'image/png', data: DATA };

const MEDIA: readonly (readonly [Operation, object])[] = [
  [chat, say({ type: 'image_url', image_url: { url: IMAGE, detail: 'high' } })],
  [chat, say({ type: 'image_url', image_url: IMAGE })],
  [chat, say({ type: 'input_audio', input_audio: { data: DATA, format: 'wav' } })],
  [
    chat,
    say({ type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${DATA}` } }),
  ],
  [respond, item({ role: 'user', content: [{ type: 'input_image', image_url: IMAGE }] })],
  [respond, item({ type: 'function_call_output', output: [{ type: 'input_image', image_url: IMAGE }] })],
  [
    respond,
    item({ type: 'computer_call_output', output: { type: 'computer_screenshot', image_url: IMAGE } }),
  ],
  [respond, item({ content: [{ type: 'input_file', file_data: `data:application/pdf;base64,${DATA}` }] })],
  [respond, item({ type: 'image_generation_call', id: 'x', result: DATA })],
  [message, say({ type: 'image', source })],
  [message, say({ type: 'document', source: { ...source, media_type: 'application/pdf' } })],
  [
    message,
    say({
      type: 'tool_result',
      content: [
        { type: 'text', text: 'x' },
        { type: 'image', source },
      ],
    }),
  ],
  [message, say({ type: 'document', source: { type: 'content', content: [{ type: 'image', source }] } })],
  [generate, tell({ inlineData: { mimeType: 'image/png', data: DATA } })],
  [generate, tell({ inline_data: { data: DATA, mime_type: 'audio/mp3' } })],
  [generate, tell({ functionResponse: { parts: [{ inlineData: { mimeType: 'image/png', data: DATA } }] } })],
  [generate, { systemInstruction: { parts: [{ inlineData: { mimeType: 'video/mp4', data: DATA } }] } }],
];

describe('media count as media', () => {
  for (const [operation, fields] of MEDIA)
    it(`${operation.dialect}: ${JSON.stringify(fields).slice(0, 90)}`, () => {
      expect(estimate(operation, fields)).toBeGreaterThan(1_600);
      expect(estimate(operation, fields)).toBeLessThan(1_700);
    });

  it('each for itself, by its size where that is large, however it is written', () => {
    const large = { ...source, data: Buffer.alloc(6_000_000, 7).toString('base64') };
    expect(estimate(message, say({ source: large }))).toBeGreaterThan(13_000);
    expect(estimate(message, say({ source: large }))).toBeLessThan(14_000);
    expect(estimate(message, say({ source }, { source }))).toBeGreaterThan(3_200);
    expect(estimate(message, say({ source }, { source }))).toBeLessThan(3_400);
    const escaped = `{"model":"m","messages" : [ {"content":[{"source":{ "data" : "${DATA.replaceAll('/', '\\/')}", "media_type":"image\\/png" } }]}]}`;
    expect(estimate(message, escaped)).toBeLessThan(1_700);
  });
});

const TEXTS: readonly (readonly [Operation, object | string])[] = [
  [message, say({ type: 'document', source: { type: 'text', media_type: 'text/plain', data: DATA } })],
  [message, say({ type: 'document', source: { type: 'text', media_type: 'image/png', data: DATA } })],
  [message, say({ type: 'document', source: { type: 'base64', media_type: 'text/plain', data: DATA } })],
  [message, say({ type: 'image', source: { type: 'base64', data: DATA } })],
  [message, say({ type: 'tool_use', id: 'x', name: 'y', input: { data: DATA } })],
  [message, say({ type: 'tool_use', id: 'x', name: 'y', input: source })],
  [message, say({ type: 'tool_use', id: 'x', name: 'y', input: { source, content: [{ source }] } })],
  [message, say({ type: 'redacted_thinking', data: DATA })],
  [message, say({ type: 'text', text: IMAGE })],
  [message, { system: [{ source }], tools: [{ input_schema: { source } }], metadata: { source } }],
  [message, say({ type: 'image', Source: source })],
  [message, say({ type: 'image', source: { ...source, Media_Type: 'text/plain' } })],
  [message, say({ type: 'image', source: { ...source, mimeType: 'text/plain' } })],
  [
    message,
    `{"model":"m","messages":[{"content":[{"source":{"media_type":"image/png","media_type":"text/plain","data":"${DATA}"}}]}]}`,
  ],
  [
    message,
    `{"model":"m","messages":[{"content":[{"source":{"media_type":"image/png","data":"${DATA}","data":"${DATA}"}}]}]}`,
  ],
  [chat, say({ type: 'image_url', image_url: { url: DATA } })],
  [chat, say({ type: 'image_url', image_url: { url: `data:text/plain;base64,${DATA}` } })],
  [chat, say({ type: 'file', file: { file_data: `data:text/html;base64,${DATA}` } })],
  [chat, say({ type: 'text', text: IMAGE })],
  [chat, { messages: [{ content: IMAGE, tool_calls: [{ function: { arguments: `{"data":"${DATA}"}` } }] }] }],
  [chat, say({ source })],
  [chat, { data: DATA, image_url: { url: IMAGE }, source }],
  [respond, item({ type: 'function_call_output', result: DATA, output: IMAGE })],
  [respond, item({ type: 'message', content: [{ type: 'input_text', text: IMAGE }] })],
  [respond, { input: IMAGE, instructions: DATA }],
  [embed, { input: [IMAGE, DATA], image_url: IMAGE }],
  [generate, tell({ inlineData: { mimeType: 'text/plain', data: DATA } })],
  [generate, tell({ inlineData: { data: DATA } })],
  [
    generate,
    tell({ text: DATA }, { functionCall: { args: { inlineData: { mimeType: 'image/png', data: DATA } } } }),
  ],
  [
    generate,
    tell({
      inlineData: { mimeType: 'image/png', data: `${DATA.slice(0, 3_000)} ${'and words '.repeat(3_000)}` },
    }),
  ],
];

describe('all else counts as a text, by its bytes', () => {
  for (const [place, [operation, fields]] of TEXTS.entries())
    it(`${place} ${operation.dialect}: ${JSON.stringify(fields).slice(0, 90)}`, () =>
      expect(estimate(operation, fields)).toBeGreaterThan(9_000));
});
