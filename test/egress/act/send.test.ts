import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { gather } from '../../../egress/act/send.ts';

describe('what is written in one turn', () => {
  it('goes out together, also behind a promise, and what comes later does not wait', async () => {
    const went: string[] = [];
    const to = recording(went);
    // In a turn of its own, as bytes come: before its ticks, promises are not seen to.
    await turn();
    gather(to);
    to.write('head,');
    await Promise.resolve();
    to.write('body');
    await turn();
    to.write('more');
    expect(went).toEqual(['head,body', 'more']);
  });

  it('goes out although it ends in the same turn', async () => {
    const went: string[] = [];
    const to = recording(went);
    gather(to);
    to.write('head,');
    to.end('body');
    await turn();
    expect(went).toEqual(['head,body']);
    expect(to.writableFinished).toBe(true);
  });
});

function recording(went: string[]): Writable {
  return new Writable({
    decodeStrings: false,
    write: (chunk: string, _encoding, done) => {
      went.push(chunk);
      done();
    },
    writev: (chunks, done) => {
      went.push(chunks.map(({ chunk }) => String(chunk)).join(''));
      done();
    },
  });
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
