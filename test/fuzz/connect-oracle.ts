/** What a strict reading of a client's bytes lets the listener do, at most; and whether an answer is one of its own. */
import { REFUSALS } from '../../core-lite/reasons.ts';
import { type Head, readHead, STRICT } from './reader.ts';

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
    if (typeof head === 'string' || !isConnect(head)) return null;
    const credential = valuesOf(head, 'proxy-authorization')[0];
    const target = head.first.split(' ')[1] ?? '';
    if (credential !== undefined) {
      return mayBeToken(credential, token) ? { target, tail: bytes.subarray(head.headEnd) } : null;
    }
    // Asked for a token, the client may ask once more on the same connection.
    at = head.headEnd;
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

function valuesOf(head: Head, wanted: string): string[] {
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

/** The text behind a 200, or `null` where there was none. Throws where the answers are not the listener's. */
export function readAnswers(text: string, token: string): string | null {
  for (let rest = text; rest !== ''; ) {
    const head = /^HTTP\/1\.1 (\d{3}) [A-Za-z -]+\r\n((?:[A-Za-z-]+: [\x20-\x7e]*\r\n)*)\r\n/.exec(rest);
    if (!head) throw new Error(`no answer of ours: ${JSON.stringify(rest.slice(0, 300))}`);
    rest = rest.slice(head[0].length);
    if (head[1] === '200') return rest;
    const reason = /^Sallyport-Reason: (\w+)\r$/m.exec(head[2] ?? '')?.[1] ?? '';
    const expected = Object.entries(REFUSALS).find(([name]) => name === reason)?.[1].status;
    if (String(expected) !== head[1]) throw new Error(`an answer without its reason: ${head[0]}`);
    const length = Number(/^Content-Length: (\d+)\r$/m.exec(head[2] ?? '')?.[1]);
    const body = rest.slice(0, length);
    if (body.length !== length) throw new Error(`an answer cut short: ${head[0]}${body}`);
    if (body.includes(token.slice(-40)) || head[0].includes(token.slice(-40)))
      throw new Error('an answer with a token');
    rest = rest.slice(length);
  }
  return null;
}
