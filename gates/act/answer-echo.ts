/** Stage 6 of a call of the built-in model: its answer, metered like any other. */
import type { ServerResponse } from 'node:http';
import type { Allow } from '../../core-lite/decision.ts';
import type { Dialect } from '../../core-lite/state/dialect.ts';
import type { Call } from '../calls.ts';
import { Meter } from '../meter.ts';
import type { ModelEnding } from '../record.ts';
import { echo } from './echo.ts';
import type { Unanswered } from './model-call.ts';

export interface EchoRequest {
  readonly call: Call;
  readonly dialect: Dialect;
  /** Plain JSON. */
  readonly body: Buffer;
  readonly streamed: boolean;
}

export async function answerEcho(
  _proof: Allow<string>,
  { call, dialect, body, streamed }: EchoRequest,
  response: ServerResponse,
): Promise<ModelEnding | Unanswered> {
  const answer = echo(dialect, body, streamed);
  if (!answer) return { refusal: 'body_malformed' };
  const bytes = Buffer.from(answer.body);
  const meter = new Meter(dialect, answer.contentType, '');
  meter.see(bytes);
  const firstByteMs = Date.now() - call.at.getTime();
  const length = streamed ? {} : { 'content-length': bytes.length };
  response.writeHead(200, { 'content-type': answer.contentType, ...length });
  response.end(bytes);
  const { tokens } = await meter.read();
  return { outcome: call.stopped ? 'client_left' : 'completed', status: 200, tokens, firstByteMs };
}
