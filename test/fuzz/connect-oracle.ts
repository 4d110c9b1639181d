/** What a strict reading of a client's bytes lets the listener do, at most; and whether an answer is one of its own. */
import { REFUSALS } from '../../core-lite/reasons.ts';
import { type Head, LOOSE, type Message, readHead, readRequests, STRICT } from './reader.ts';

/** The one tunnel that may come of the bytes: to what, and which bytes belong into it. */
export interface Permitted {
  /** As it came. */
  readonly target: string;
  readonly tail: Buffer;
}

/** `null` where no tunnel may come of them. */
export function permittedTunnel(bytes: Buffer, token: string): Permitted | null {
  const text = bytes.toString('latin1');
  for (let at = 0; ; ) {
    while (text.startsWith('\r\n', at)) at += 2;
    const head = readHead(text, at, STRICT);
    if (typeof head === 'string') return null;
    const credential = valuesOf(head, 'proxy-authorization')[0];
    if (!isConnect(head) && (credential !== undefined || !isBare(head))) return null;
    const target = head.first.split(' ')[1] ?? '';
    if (credential !== undefined) {
      return mayBeToken(credential, token) ? { target, tail: bytes.subarray(head.headEnd) } : null;
    }
    // Asked for a token, the client may ask once more on the same connection.
    at = head.headEnd;
  }
}

/** The one plain request that may come of them, where it is for this host; an origin that echoes ends what follows. */
export function permittedPlain(bytes: Buffer, token: string, authority: string): Message | null {
  const { messages, rest, restAt } = readRequests(bytes, STRICT);
  for (const message of messages) {
    const credential = valuesOf(message, 'proxy-authorization')[0];
    const isPlain = message.first.split(' ')[1]?.toLowerCase().startsWith(`http://${authority}`);
    if (credential !== undefined) return mayBeToken(credential, token) && isPlain ? message : null;
  }
  // Its body breaks off or breaks its framing: what came before is passed on as it comes.
  const head = rest === 'nothing' ? 'partial' : readHead(bytes.toString('latin1'), restAt, STRICT);
  if (typeof head === 'string') return null;
  const isPlain = head.first.split(' ')[1]?.toLowerCase().startsWith(`http://${authority}`);
  const credential = valuesOf(head, 'proxy-authorization')[0] ?? '';
  const body = bytes.subarray(head.headEnd);
  return isPlain && mayBeToken(credential, token)
    ? { ...head, start: restAt, end: bytes.length, body, trailers: [] }
    : null;
}

/** Throws where what the origin got is not that request in its own form. */
export function judgePlain(arrived: string, asked: Message, authority: string, token: string): void {
  const bytes = Buffer.from(arrived, 'latin1');
  const head = readHead(arrived, 0, STRICT);
  if (typeof head === 'string') throw new Error(`the origin got a ${head} head: ${JSON.stringify(arrived)}`);
  const [method, url = '', version] = asked.first.split(' ');
  const path = url.slice(`http://${authority}`.length);
  const first = `${method} ${path.startsWith('/') ? path : `/${path}`} ${version}`;
  const star = `${method} * ${version}`;
  if (head.first !== first && !(method === 'OPTIONS' && head.first === star))
    throw new Error(`${asked.first} became ${head.first}`);
  if (valuesOf(head, 'host').join() !== authority) throw new Error(`another Host: ${arrived}`);
  if (/^proxy[-_]/im.test(arrived) || arrived.includes(token))
    throw new Error(`the token went on: ${arrived}`);
  const strict = readRequests(bytes, STRICT);
  if (strict.messages.length > 1) throw new Error(`more than one request: ${arrived}`);
  if (strict.messages.length === 0) return;
  for (const style of LOOSE) {
    const loose = readRequests(bytes, style).messages;
    if (loose.length !== 1 || loose[0]?.end !== strict.messages[0]?.end)
      throw new Error(`“${style.name}” reads other borders: ${JSON.stringify(arrived)}`);
  }
}

function isConnect(head: Head): boolean {
  const count = (name: string) => valuesOf(head, name).length;
  const [method, , version] = head.first.split(' ');
  const hosts = count('host');
  const lengths = count('content-length') + count('transfer-encoding');
  return (
    method === 'CONNECT' &&
    (version === 'HTTP/1.1' ? hosts === 1 : hosts <= 1) &&
    lengths === 0 &&
    count('proxy-authorization') <= 1
  );
}

/** A plain request that may be asked again behind its 407. */
function isBare({ first, headers }: Head): boolean {
  return (
    / http:\/\//i.test(first) && !headers.some(([name]) => /^(content-length|transfer-encoding)$/.test(name))
  );
}

function valuesOf(head: Pick<Head, 'headers'>, wanted: string): string[] {
  return head.headers.filter(([name]) => name === wanted).map(([, value]) => value);
}

function mayBeToken(credential: string, token: string): boolean {
  const [scheme = '', text = '', ...more] = credential.split(/ +/);
  if (more.length > 0) return false;
  if (scheme.toLowerCase() === 'bearer') return text === token;
  if (scheme.toLowerCase() !== 'basic') return false;
  const [user = '', ...password] = Buffer.from(text, 'base64').toString('latin1').split(':');
  const words = [user, password.join(':')];
  return words.some((word) => word === token || percentDecoded(word) === token);
}

function percentDecoded(text: string): string {
  return text.replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

/**
 * The text behind a 200, or `null` where there was none. Throws where the answers are not the listener's.
 * @param isHead whether a HEAD is among the requests
 */
export function readAnswers(text: string, token: string, isHead: boolean): string | null {
  for (let rest = text; rest !== ''; ) {
    const head = /^HTTP\/1\.1 (\d{3}) [A-Za-z -]+\r\n((?:[A-Za-z-]+: [\x20-\x7e]*\r\n)*)\r\n/.exec(rest);
    if (!head) throw new Error(`no answer of ours: ${JSON.stringify(rest.slice(0, 300))}`);
    rest = rest.slice(head[0].length);
    if (head[1] === '200') return rest;
    const reason = /^Sallyport-Reason: (\w+)\r$/m.exec(head[2] ?? '')?.[1] ?? '';
    const expected = Object.entries(REFUSALS).find(([name]) => name === reason)?.[1].status;
    if (String(expected) !== head[1]) throw new Error(`an answer without its reason: ${head[0]}`);
    const length = Number(/^Content-Length: (\d+)\r$/m.exec(head[2] ?? '')?.[1]);
    // The refusal of a HEAD has its length and no body.
    if (isHead && /^(HTTP\/1\.1 |$)/.test(rest)) continue;
    const body = rest.slice(0, length);
    if (body.length !== length) throw new Error(`an answer cut short: ${head[0]}${body}`);
    if (body.includes(token.slice(-40)) || head[0].includes(token.slice(-40)))
      throw new Error('an answer with a token');
    rest = rest.slice(length);
  }
  return null;
}
