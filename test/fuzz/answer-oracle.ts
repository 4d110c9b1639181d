/** What a client may get of a hostile origin's answer: one answer that all read alike, or the gate's own 502. */
import { show } from './exchange-oracle.ts';
import { LOOSE, readResponses, STRICT } from './reader.ts';

/** Throws where it is anything else. @returns whether the origin's own answer came, whole */
export function judgeAnswer(bytes: Buffer, sent: Buffer, method: string): boolean {
  const methods = [method, method];
  const { messages, rest, restAt } = readResponses(bytes, STRICT, methods);
  if (rest === 'malformed') throw new Error(`no answer: ${show(bytes.subarray(restAt))}`);
  const last = messages.filter(({ first }) => Number(first.split(' ')[1]) >= 200);
  if (last.length > 1) throw new Error(`two answers to one request: ${show(bytes)}`);
  const ours = last[0]?.headers.some(([name]) => name === 'sallyport-connection') ?? false;
  if (last.length === 1 && rest !== 'nothing') throw new Error(`bytes behind the answer: ${show(bytes)}`);
  if (last[0] && !ours && !sent.includes(Buffer.from(last[0].first, 'latin1')))
    throw new Error(`another status line: ${show(bytes)}`);
  for (const style of READERS) {
    const loose = readResponses(bytes, style, methods).messages;
    if (loose.map(({ end }) => end).join() !== messages.map(({ end }) => end).join())
      throw new Error(`“${style.name}” reads other borders: ${show(bytes)}`);
  }
  return last.length === 1 && !ours;
}

/** No client takes `_` for `-`, as some servers do. */
const READERS = LOOSE.map((style) => ({ ...style, looseNames: false }));
