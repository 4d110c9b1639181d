/**
 * The body of an answer from the origin's stream to the client's, through its scrubber, with flow control as the only
 * buffer. What has not ended, or was cut, is not ended at the client.
 */
import type { Http2Stream } from 'node:http2';
import { Pause } from '../../core-lite/pause.ts';
import { type BodyScrubber, type Cut, type CutOff, PAUSE_MS } from '../scrub/body-scrubber.ts';
import type { Ending } from './ending.ts';

export interface AnswerBody {
  readonly from: Http2Stream;
  readonly to: Http2Stream;
  readonly ending: Ending;
  readonly scrubbed: BodyScrubber;
  readonly onBytes: (count: number) => void;
  /** Nothing more may pass. */
  readonly onCut: (cut: Cut) => void;
  /** Where all of it is looked at before any of it leaves: called then, if all came. */
  readonly onJudged: (() => void) | null;
}

/** @returns when the origin's stream is closed and all that may pass has passed; never rejects */
export function pumpAnswer(body: AnswerBody): Promise<void> {
  const { from, to, ending, scrubbed } = body;
  let cut = false;
  let left = false;
  const pause = new Pause(PAUSE_MS);
  /** What is being looked at. The origin's stream may end and close meanwhile, though it is paused. */
  let looking: Promise<void> | null = null;
  /** What was looked at, and waits for the rest. */
  const judged: Buffer[] = [];
  const send = (parts: readonly Buffer[]) => (body.onJudged ? judged.push(...parts) >= 0 : write(to, parts));
  const cutOff = ({ before, cut: why }: CutOff) => {
    cut = true;
    send(before);
    body.onCut(why);
  };
  const pass = (parts: readonly Buffer[] | CutOff) => {
    looking = null;
    if (left) return;
    if ('cut' in parts) cutOff(parts);
    // What still comes after a cut is dropped: unread, it would keep the stream open.
    if ('cut' in parts || send(parts)) next();
    else {
      from.pause();
      to.once('drain', next);
    }
  };
  const next = () => {
    if (from.isPaused()) from.resume();
    // Not while the client is slow: that is no pause of the origin's.
    if (!cut && !left && scrubbed.mayLetGo && !body.onJudged) pause.start(() => write(to, scrubbed.letGo()));
  };
  from.on('data', (chunk: Buffer) => {
    pause.stop();
    if (cut || left) return;
    body.onBytes(chunk.length);
    const parts = scrubbed.push(chunk, [0, chunk.length]);
    if (parts instanceof Promise) {
      from.pause();
      looking = parts.then(pass);
    } else pass(parts);
  });
  // Nobody reads on: what still comes is dropped, and nothing more is decoded.
  to.once('close', () => {
    left = true;
    pause.stop();
    scrubbed.close();
    if (from.isPaused()) from.resume();
  });
  const finish = (parts: readonly Buffer[] | CutOff) => {
    looking = null;
    if ('cut' in parts) return cutOff(parts);
    send(parts);
    if (!left && body.onJudged) {
      body.onJudged();
      write(to, judged);
    }
    if (isOpen(to)) to.end();
  };
  const end = () => {
    pause.stop();
    if (cut || !ending.whole) return;
    const parts = scrubbed.end();
    if (parts instanceof Promise) looking = parts.then(finish);
    else finish(parts);
  };
  from.once('end', () => {
    if (looking) void looking.then(end);
    else end();
  });
  return new Promise((resolve) => {
    const close = () => {
      if (looking) return void looking.then(close);
      pause.stop();
      scrubbed.close();
      resolve();
    };
    from.once('close', () => void Promise.resolve().then(close));
  });
}

/** @returns whether more may be written now */
function write(to: Http2Stream, parts: readonly Buffer[]): boolean {
  return parts.reduce((more, part) => (isOpen(to) ? to.write(part) : more), true);
}

function isOpen(stream: Http2Stream): boolean {
  return !stream.closed && !stream.destroyed && !stream.writableEnded;
}
