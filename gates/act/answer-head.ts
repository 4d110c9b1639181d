/** What a provider's head says, from its raw lines, and what of it the caller gets. */
import type { Dispatcher } from 'undici';
import { contentCoding, headerValue, responseHeaders } from './headers.ts';
import { maskHeaders } from './mask.ts';

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
  /** Whether the caller is told how long it is. */
  readonly hasLength: boolean;
  /** Whether the end of the answer is told by more than the end of its connection. */
  readonly framed: boolean;
}

/** @param mayShrink whether an event of a stream is left out: then the provider's length is not the caller's */
export function readHead(
  controller: Dispatcher.DispatchController,
  status: number,
  statusText: string,
  mayShrink: boolean,
): AnswerHead {
  const raw = rawTexts(controller);
  const contentType = headerValue(raw, 'content-type');
  const events = contentType.startsWith('text/event-stream');
  const length = headerValue(raw, 'content-length') !== '';
  const hasLength = length && !(events && mayShrink);
  return {
    status,
    statusText,
    headers: responseHeaders(raw, length && !hasLength ? ['content-length'] : []),
    events,
    encoding: contentCoding(raw),
    contentType,
    hasLength,
    framed: length || headerValue(raw, 'transfer-encoding') !== '',
  };
}

/** The host that a redirect leads to; `null` where it names none. */
export function redirectHost(
  controller: Dispatcher.DispatchController,
  secrets: readonly Buffer[],
): string | null {
  const [location = ''] = maskHeaders([headerValue(rawTexts(controller), 'location')], secrets);
  return URL.parse(location)?.host || null;
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
