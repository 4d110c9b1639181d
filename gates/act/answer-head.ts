/** What a provider's head says, from its raw lines, and what of it the caller gets. */
import type { Dispatcher } from 'undici';
import { headerValue, responseHeaders } from './headers.ts';

/** What counts of it here. */
export interface AnswerHead {
  readonly status: number;
  readonly statusText: string;
  /** Name, value, name, value; only what may pass. */
  readonly headers: readonly string[];
  /** A stream of events. */
  readonly events: boolean;
  /** Lower case; empty for none. */
  readonly encoding: string;
  /** Lower case. */
  readonly contentType: string;
  readonly hasLength: boolean;
  /** Whether the end of the answer is told by more than the end of its connection. */
  readonly framed: boolean;
}

export function readHead(
  controller: Dispatcher.DispatchController,
  status: number,
  statusText: string,
): AnswerHead {
  const raw = rawTexts(controller);
  const contentType = headerValue(raw, 'content-type');
  const hasLength = headerValue(raw, 'content-length') !== '';
  return {
    status,
    statusText,
    headers: responseHeaders(raw),
    events: contentType.startsWith('text/event-stream'),
    encoding: headerValue(raw, 'content-encoding'),
    contentType,
    hasLength,
    framed: hasLength || headerValue(raw, 'transfer-encoding') !== '',
  };
}

export function isCoded({ encoding }: AnswerHead): boolean {
  return encoding !== '' && encoding !== 'identity';
}

/** undici's parser gives the raw lines as buffers, in turns. */
function rawTexts({ rawHeaders }: Dispatcher.DispatchController): string[] {
  if (!Array.isArray(rawHeaders)) return [];
  return rawHeaders.map((text: Buffer | string) =>
    typeof text === 'string' ? text : text.toString('latin1'),
  );
}
