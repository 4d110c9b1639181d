/** What a strict reading of a client's requests lets through an interception, at most, and how it must look on the other side. */
import { LOOSE, type Message, readRequests, readResponses, STRICT } from './reader.ts';
import { digestOf } from './tls-lane-origin.ts';

/** The requests that may reach the origin, in order. */
export function permittedRequests(bytes: Buffer, authority: string): readonly Message[] {
  const { messages } = readRequests(bytes, STRICT);
  const first = messages.findIndex((message) => !isPermitted(message, authority));
  return first < 0 ? messages : messages.slice(0, first);
}

function isPermitted({ first, headers }: Message, authority: string): boolean {
  const [method = '', target = '', version] = first.split(' ');
  const hosts = headers.filter(([name]) => name === 'host').map(([, value]) => value.toLowerCase());
  const named = hosts.length === 1 ? hosts[0] === authority : hosts.length === 0 && version === 'HTTP/1.0';
  return named && !/^(trace|connect)$/i.test(method) && (target.startsWith('/') || target === '*');
}

/** Throws where what came on one connection of the origin is not what may have been sent. @returns its whole requests */
export function judgeArrived(bytes: Buffer, secret: string): readonly Message[] {
  const strict = readRequests(bytes, STRICT);
  if (strict.rest === 'malformed')
    throw new Error(`the origin got what is no request: ${show(bytes.subarray(strict.restAt))}`);
  for (const style of LOOSE) {
    const loose = readRequests(bytes, style);
    if (bordersOf(loose) !== bordersOf(strict))
      throw new Error(`“${style.name}” reads other borders: ${show(bytes)}`);
  }
  for (const { headers, trailers } of strict.messages) {
    const injected = headers.filter(([name]) => name.replaceAll('_', '-') === 'authorization');
    if (injected.length !== 1 || injected[0]?.[1] !== `Bearer ${secret}`)
      throw new Error(`not the secret: ${injected.join(' ')}`);
    const hop = headers.find(([name, value]) => HOP_BY_HOP.test(name) && !isUpgrade(name, value));
    if (hop) throw new Error(`the origin got ${hop.join(': ')}`);
    const trailed = trailers.find(([name]) => FRAMES_OR_AUTHENTICATES.test(name));
    if (trailed) throw new Error(`the origin got the trailer ${trailed.join(': ')}`);
  }
  return strict.messages;
}

/** Throws where one that arrived is not one that was sent, in its turn. */
export function judgeOrder(arrived: readonly Message[], permitted: readonly Message[]): void {
  if (arrived.length > permitted.length)
    throw new Error(`${arrived.length} requests for ${permitted.length}`);
  for (const [index, one] of arrived.entries()) {
    const sent = permitted[index] as Message;
    if (one.first !== sent.first || !one.body.equals(sent.body)) {
      throw new Error(`request ${index} became ${show(Buffer.from(one.first))} with ${show(one.body)}`);
    }
    const lines = new Set(sent.headers.map((header) => header.join(': ')));
    const made = one.headers.find(
      (header) => !lines.has(header.join(': ')) && !/^(authorization|host)$/.test(header[0]),
    );
    if (made) throw new Error(`the origin got a header that was not sent: ${made.join(': ')}`);
  }
}

/** Throws where the client's answers are not those of its requests, in order. @returns how many of them the origin gave */
export function judgeAnswers(bytes: Buffer, permitted: readonly Message[], whole: boolean): number {
  const methods = permitted.map(({ first }) => first.split(' ')[0] ?? '');
  const { messages, rest, restAt } = readResponses(bytes, STRICT, methods);
  if (rest === 'partial') {
    const left = endedByRefusal(messages, bytes.toString('latin1', restAt));
    if (left !== null) return left;
  }
  if (rest === 'malformed' || (rest === 'partial' && whole))
    throw new Error(`${rest} answer: ${show(bytes.subarray(restAt))}`);
  let given = 0;
  for (const { first, headers, body } of messages) {
    const reason = headers.find(([name]) => name === 'sallyport-reason');
    const of = headers.find(([name]) => name === 'x-of')?.[1];
    const asked = permitted[given];
    if (reason) {
      if (messages.at(-1)?.first !== first) throw new Error('an answer behind a refusal');
      return given;
    }
    if (!asked || of !== digestOf(asked)) throw new Error(`answer ${given} is another request’s: ${first}`);
    if (body.length > 0 && body.toString() !== of)
      throw new Error(`answer ${given} was changed: ${show(body)}`);
    given += 1;
  }
  return given;
}

/**
 * How many answers came before a refusal that this reader does not see the end of; `null` where there is none. A refused
 * HEAD, which is not among the permitted ones, has a length and no body. What egress cannot read has no method to it,
 * though a laxer reader takes it for a HEAD: that refusal has a body. Either is the last answer.
 */
function endedByRefusal(messages: readonly Message[], rest: string): number | null {
  if (BARE_REFUSAL.test(rest)) return messages.length;
  const reason = messages.at(-1)?.headers.find(([name]) => name === 'sallyport-reason')?.[1];
  const unread = reason === 'request_malformed' && /^sallyport: request_malformed: [^\n]*\n$/.test(rest);
  return unread ? messages.length - 1 : null;
}

export function show(bytes: Buffer): string {
  return JSON.stringify(bytes.toString('latin1').slice(0, 2_000));
}

function bordersOf({ messages }: { readonly messages: readonly Message[] }): string {
  return messages.map(({ start, headEnd, end }) => `${start}-${headEnd}-${end}`).join(' ');
}

/** A WebSocket's. */
function isUpgrade(name: string, value: string): boolean {
  return (
    (name === 'connection' && /^upgrade$/i.test(value)) ||
    (name === 'upgrade' && /^websocket$/i.test(value)) ||
    (name === 'te' && value === 'trailers')
  );
}

const HOP_BY_HOP =
  /^(connection|keep[-_]alive|proxy[-_](authenticate|authentication[-_]info|authorization|connection)|te|upgrade|http2[-_]settings)$/;
const FRAMES_OR_AUTHENTICATES =
  /^(host|content[-_]length|transfer[-_]encoding|connection|te|upgrade|.*auth.*|cookie)$/;

const BARE_REFUSAL = /^HTTP\/1\.1 [45]\d\d [^\r]*\r\nSallyport-Reason: (?:[^\r]*\r\n)+\r\n$/;
