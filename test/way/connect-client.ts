/** A client that sends one CONNECT and hands over what came back, nothing hidden: the tests of the way judge it. */
import { connect, type Socket } from 'node:net';

export interface ConnectAnswer {
  /** 0 where the proxy closed without an answer. */
  readonly status: number;
  /** `Sallyport-Reason`. */
  readonly reason: string | null;
  /** Everything that came: the head, and the body of a refusal. */
  readonly text: string;
  /** Open after a 200; paused, so that nothing of the tunnel is lost. */
  readonly socket: Socket;
  readonly ms: number;
}

/** Sends a CONNECT with an egress token. Never rejects. */
export function connectThrough(port: number, target: string, token: string): Promise<ConnectAnswer> {
  const basic = Buffer.from(`token:${token}`).toString('base64');
  return sendRaw(
    port,
    `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\nProxy-Authorization: Basic ${basic}\r\n\r\n`,
  );
}

/** Sends these very bytes; resolves at the head of a 2xx, else when the proxy has closed. Never rejects. */
export function sendRaw(port: number, bytes: string): Promise<ConnectAnswer> {
  return new Promise((resolve) => {
    const started = performance.now();
    const socket = connect(port, '127.0.0.1');
    let text = '';
    const settle = (): void => {
      socket.removeAllListeners('data');
      socket.pause();
      resolve({
        status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0),
        reason: /^Sallyport-Reason: (.*)\r$/im.exec(text)?.[1] ?? null,
        text,
        socket,
        ms: performance.now() - started,
      });
    };
    socket.on('error', () => {});
    socket.once('close', settle);
    socket.on('data', (chunk) => {
      text += chunk;
      if (/^HTTP\/1\.1 2\d\d .*\r\n\r\n/s.test(text)) settle();
      else if (isWhole(text)) socket.end();
    });
    socket.write(bytes, 'latin1');
  });
}

/** Sends a line through an open tunnel to an echoing origin. @returns whether it came back whole, within 5 s */
export function echoes(socket: Socket, line: string): Promise<boolean> {
  return new Promise((resolve) => {
    let got = '';
    const done = (whole: boolean): void => {
      clearTimeout(limit);
      socket.removeListener('data', hear);
      resolve(whole);
    };
    const hear = (chunk: Buffer): void => {
      got += chunk;
      if (got.includes(line)) done(true);
    };
    const limit = setTimeout(() => done(false), 5_000);
    socket.on('data', hear);
    socket.once('close', () => done(false));
    socket.resume();
    socket.write(line);
  });
}

/** A refusal that the proxy keeps open for another try does not close by itself. */
function isWhole(text: string): boolean {
  const [head, body] = text.split('\r\n\r\n', 2);
  const length = /^Content-Length: (\d+)\r?$/im.exec(head ?? '')?.[1];
  return length !== undefined && body !== undefined && body.length >= Number(length);
}
