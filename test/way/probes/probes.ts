/**
 * The probes that hold in every way that HTTP/1.1 takes through the gate. Each is what a client or an origin sees; none
 * knows what is between them.
 */
import { expect } from 'vitest';
import { readHead, type Stand, type Way } from './stand.ts';

export interface Probe {
  readonly title: string;
  readonly run: (stand: Stand, way: Way) => Promise<unknown>;
}

export const PROBES: readonly Probe[] = [
  {
    title: 'the headers of an answer leave before the first byte of its body',
    run: async (stand, way) => {
      const { client, origin } = await stand.ask(way, 'GET', '/x');
      origin.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n');
      expect(await readHead(client)).toBe('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n');
      origin.send('hi');
      expect(await client.text(2)).toBe('hi');
    },
  },
  {
    title: 'each event of a stream arrives before the origin sends the next',
    run: async (stand, way) => {
      const { client, origin } = await stand.ask(way, 'GET', '/events', 'Accept: text/event-stream\r\n');
      origin.send('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n');
      await readHead(client);
      for (const event of ['data: one\n\n', 'data: two\n\n', ': ping\n\n', '{"a":1}\n']) {
        const chunk = `${event.length.toString(16)}\r\n${event}\r\n`;
        origin.send(chunk);
        expect(await client.text(chunk.length)).toBe(chunk);
      }
    },
  },
  {
    title: 'repeats, case, order, blanks and the reason phrase are kept both ways',
    run: async (stand, way) => {
      const lines = 'X-One: a\r\nx-one: b\r\nACCEPT:  */* \r\nCookie: a=1\r\nCookie: b=2\r\n';
      const { client, origin, head } = await stand.ask(way, 'GET', '/a//b;c/%2e?q=%20&q', lines);
      expect(head).toContain(lines);
      expect(head).toMatch(/^GET \/a\/\/b;c\/%2e\?q=%20&q HTTP\/1\.1\r\n/);
      const answer =
        'HTTP/1.1 209 Not  In Any LIST\r\nSet-Cookie: a=1\r\nset-COOKIE: b=2\r\nVary: a\r\nVary: b\r\nContent-Length: 0\r\n\r\n';
      origin.send(answer);
      expect(await client.text(answer.length)).toBe(answer);
    },
  },
  {
    title: 'trailers of a request and of its answer are kept',
    run: async (stand, way) => {
      const body = '2\r\nhi\r\n0\r\nX-Sum: 1\r\nX-sum: 2\r\n\r\n';
      const lines = 'Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n';
      const { client, origin } = await stand.ask(way, 'POST', '/x', lines);
      client.send(body);
      expect(await origin.text(body.length)).toBe(body);
      const answer = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n${body}`;
      origin.send(answer);
      expect(await client.text(answer.length)).toBe(answer);
    },
  },
  {
    title: 'a header of 20 KB passes, in a request and in an answer',
    run: async (stand, way) => {
      const line = `X-Long: ${'l'.repeat(20_000)}\r\n`;
      const { client, origin, head } = await stand.ask(way, 'GET', '/x', line);
      expect(head).toContain(line);
      const answer = `HTTP/1.1 200 OK\r\n${line}Content-Length: 0\r\n\r\n`;
      origin.send(answer);
      expect(await client.text(answer.length)).toBe(answer);
    },
  },
  {
    title: 'a client that finishes first still gets a reply that comes later',
    run: async (stand, way) => {
      const { client, origin } = await stand.ask(way, 'POST', '/x', 'Content-Length: 4\r\n');
      client.send('last').finish();
      expect(await origin.text(4)).toBe('last');
      // The end has passed through the gate once another exchange has gone all its way.
      await goThrough(stand, way);
      origin.send('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nlater');
      expect((await client.answer()).body).toBe('later');
    },
  },
  {
    title: 'requests sent right behind each other are answered in turn',
    run: async (_stand, way) => {
      const client = await way.enter();
      client.send(way.head('POST', '/1', 'Content-Length: 3\r\n')).send(`one${way.head('GET', '/2')}`);
      const origin = await way.accept();
      expect(await readHead(origin)).toContain('POST /1 ');
      expect(await origin.text(3)).toBe('one');
      origin.send('HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1');
      expect((await client.answer()).body).toBe('1');
      expect(await readHead(origin)).toContain('GET /2 ');
      origin.send('HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n2');
      expect((await client.answer()).body).toBe('2');
    },
  },
];

/** Probes of a gate that reads HTTP: in a tunnel the bytes are the client's and the origin's own. */
export const READING_PROBES: readonly Probe[] = [
  ...(['1.1', '1.0'] as const).flatMap((version) => [
    refused(`both lengths, HTTP/${version}`, 'Content-Length: 3\r\nTransfer-Encoding: chunked\r\n', version),
    refused(`two lengths, HTTP/${version}`, 'Content-Length: 3\r\nContent-Length: 4\r\n', version),
  ]),
  refused('one length twice', 'Content-Length: 3\r\nContent-Length: 3\r\n'),
  refused('a list of lengths', 'Content-Length: 3, 3\r\n'),
  refused('a signed length', 'Content-Length: +3\r\n'),
  refused('two codings', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n'),
  refused('a coding that is none', 'Transfer-Encoding: xchunked\r\n'),
  refused('a folded line', 'X-A: b\r\n c: d\r\n'),
  refused('a blank before a colon', 'Transfer-Encoding : chunked\r\n'),
  {
    title: 'what is named by Connection, and what is meant for a proxy, goes no further',
    run: async (stand, way) => {
      const lines =
        'Connection: keep-alive, X-Hop\r\nX-Hop: 1\r\nProxy-Connection: keep-alive\r\nKeep-Alive: 5\r\nTE: trailers\r\nX-Stays: 1\r\n';
      const { head } = await stand.ask(way, 'GET', '/x', lines);
      expect(head).toContain('X-Stays: 1\r\n');
      expect(head).not.toMatch(/^(x-hop|proxy-|keep-alive)/im);
      expect(head).not.toContain(stand.token);
    },
  },
  {
    title: 'a client of HTTP/1.0 is not given chunks',
    run: async (stand, way) => {
      const { client, origin } = await stand.ask(way, 'GET', '/x', '', '1.0');
      origin.send(
        'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-A: 1\r\n\r\n5\r\nhello\r\n0\r\nX-T: 1\r\n\r\n',
      );
      const head = await readHead(client);
      expect(head).not.toMatch(/^(transfer-encoding|trailer|content-length)/im);
      expect(head).toMatch(/^connection: close\r$/im);
      expect(await client.text(5)).toBe('hello');
      expect(await client.ending()).toBe('end');
      expect(client.received.length).toBe(0);
    },
  },
  {
    title: 'no answer that breaks off looks whole',
    run: async (stand, way) => {
      const { client, origin } = await stand.ask(way, 'GET', '/x');
      const part = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel';
      origin.send(part);
      expect(await client.text(part.length)).toBe(part);
      origin.close();
      await client.ending().catch(() => {});
      expect(client.received.length).toBe(0);
    },
  },
];

function refused(what: string, lines: string, version?: string): Probe {
  return {
    title: `refused: ${what}`,
    run: async (_stand, way) => {
      const client = await way.enter();
      client.send(`${way.head('POST', '/x', lines, version)}3\r\nabc\r\n0\r\n\r\n`);
      const answer = await client.answer();
      expect([answer.status, answer.headers.get('sallyport-reason')]).toEqual([400, 'request_malformed']);
      expect(await client.ending()).toBe('end');
    },
  };
}

async function goThrough(stand: Stand, way: Way): Promise<void> {
  const { client, origin } = await stand.ask(way, 'GET', '/other');
  origin.send('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
  await client.answer();
}
