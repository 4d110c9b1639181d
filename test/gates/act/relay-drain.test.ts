/** Backpressure of a compressed answer: whatever comes first, the drain or the decoding, the provider flows again. */
import { EventEmitter, once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { expect, it } from 'vitest';
import { AnswerRelay } from '../../../gates/act/relay-answer.ts';

/** A response that is full when the test says so. */
class Caller extends EventEmitter {
  writableNeedDrain = false;
  destroyed = false;
  sendDate = true;
  readonly written: Buffer[] = [];

  writeHead(): this {
    return this;
  }

  write(bytes: Buffer | string): boolean {
    if (bytes.length === 0) return true;
    this.written.push(Buffer.from(bytes));
    this.writableNeedDrain = true;
    this.emit('taken');
    return false;
  }

  end(): this {
    return this;
  }

  destroy(): this {
    return this;
  }

  drain(): void {
    this.writableNeedDrain = false;
    this.emit('drain');
  }
}

it('goes on after a drain that came while it was decoded, and one that came after', async () => {
  const caller = new Caller();
  const flows: string[] = [];
  const lines = [
    'Content-Type',
    'text/event-stream',
    'Content-Encoding',
    'gzip',
    'Transfer-Encoding',
    'chunked',
  ];
  const controller = {
    rawHeaders: lines.map((text) => Buffer.from(text)),
    pause: () => flows.push('pause'),
    resume: () => flows.push('resume'),
    abort: () => {},
  } as unknown as Dispatcher.DispatchController;
  const relay = new AnswerRelay({
    response: caller as unknown as ServerResponse,
    dialect: 'openai',
    session: 'ses_1',
    secrets: [Buffer.from('sk-canary-drain')],
    hidesUsage: false,
    signal: new AbortController().signal,
    stopped: () => null,
    wholeLimitMs: 60_000,
    idleLimitMs: 60_000,
    now: Date.now,
  });
  relay.onRequestStart(controller);
  relay.onResponseStart(controller, 200, null, 'OK');
  const bytes = gzipSync('data: 1\n\n');
  const taken = once(caller, 'taken');
  relay.onResponseData(controller, bytes);
  await new Promise((resolve) => process.nextTick(resolve));
  expect(flows).toEqual(['pause']);
  // It is still decoded: nothing flows yet, and what is written next fills the caller up again.
  caller.drain();
  await taken;
  await new Promise((resolve) => setImmediate(resolve));
  expect(flows).not.toContain('resume');
  caller.drain();
  expect(flows.at(-1)).toBe('resume');
  expect(Buffer.concat(caller.written)).toEqual(bytes);
  relay.onResponseError(controller, new Error('the test is over'));
  await relay.ended;
});
