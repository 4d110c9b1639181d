/**
 * What a proxy for clients of every kind is asked, in each way that bytes can take through the gate, and which test
 * asks it. A test holds that each of them exists.
 */
import { type None, none, type Proof, proof, shared } from './proofs.ts';

interface Row {
  readonly asked: string;
  readonly tunnel: Proof | None;
  readonly interception: Proof | None;
  readonly http2: Proof | None;
  readonly plain: Proof | None;
}

const HANDSHAKE = 'way/probes/handshake.test.ts';
const STREAMS = 'way/probes/streams.test.ts';
const SLOW = 'way/probes/slow.test.ts';
const LONG = 'long/slow-clients.test.ts';
const HTTP2 = 'way/http2.test.ts';
const PLAIN = 'way/plain.test.ts';
const BYTES = none('the bytes are the client’s and the origin’s own');
const NO_CONNECT = none('there is no CONNECT');
const ONE_CONNECTION = none('the connection begins as one of HTTP/1.1 does');
const NO_TLS = none('there is no TLS');
const NO_1_1 = none('only HTTP/1.1 has it');
const all = (way: Proof) => ({ tunnel: way, interception: way, plain: way });

export const ROWS: readonly Row[] = [
  {
    asked: 'bytes right behind the CONNECT',
    tunnel: proof(
      'way/tunnel.test.ts',
      'right behind the head arrive once and in order, with those that follow',
    ),
    interception: proof(HANDSHAKE, 'right behind the head of the CONNECT is heard'),
    http2: ONE_CONNECTION,
    plain: shared('requests sent right behind each other are answered in turn'),
  },
  {
    asked: 'a client that finishes first, a reply that comes later',
    ...all(shared('a client that finishes first still gets a reply that comes later')),
    http2: proof(
      STREAMS,
      'a client that finishes first still gets a reply that comes later, and an upload takes its time',
    ),
  },
  {
    asked: 'a server that speaks first',
    tunnel: proof('way/tunnel.test.ts', 'from a server that speaks first arrive'),
    interception: proof(
      HANDSHAKE,
      'that speaks first, and no TLS, is refused at the CONNECT and not waited for',
    ),
    http2: ONE_CONNECTION,
    plain: NO_CONNECT,
  },
  {
    asked: 'a 407, then another try on the same connection',
    ...all(proof(HANDSHAKE, 'is asked again on the same connection after a 407')),
    http2: ONE_CONNECTION,
  },
  {
    asked: 'curl --proxy-anyauth',
    ...all(proof(HANDSHAKE, 'serves curl --proxy-anyauth, and curl that says Basic at once')),
    http2: ONE_CONNECTION,
  },
  {
    asked: 'basic in lower case, Bearer, no user',
    ...all(proof(HANDSHAKE, 'takes %s, and shows the origin nothing of it')),
    http2: ONE_CONNECTION,
  },
  {
    asked: 'hop-by-hop headers',
    tunnel: BYTES,
    interception: shared('what is named by Connection, and what is meant for a proxy, goes no further'),
    http2: proof(
      HTTP2,
      'is set on each stream in place of what the client sent; the lines keep order and repeats',
    ),
    plain: shared('what is named by Connection, and what is meant for a proxy, goes no further'),
  },
  {
    asked: 'a Host that is not the target',
    tunnel: BYTES,
    interception: proof('way/interception.test.ts', 'another Host'),
    http2: proof(HTTP2, 'another authority'),
    plain: proof(
      PLAIN,
      'goes out in origin form without what was meant for the proxy, and its answer comes back as it is',
    ),
  },
  {
    asked: 'both lengths, two lengths',
    tunnel: BYTES,
    interception: shared('refused: '),
    http2: NO_1_1,
    plain: shared('refused: '),
  },
  {
    asked: 'the headers of an answer before its body',
    ...all(shared('the headers of an answer leave before the first byte of its body')),
    http2: proof(STREAMS, 'the headers of an answer leave before the first byte of its body'),
  },
  {
    asked: 'the first event of a stream',
    ...all(shared('each event of a stream arrives before the origin sends the next')),
    http2: proof(STREAMS, 'each event arrives before the origin sends the next'),
  },
  {
    asked: 'repeats, case and the reason phrase',
    ...all(shared('repeats, case, order, blanks and the reason phrase are kept both ways')),
    http2: proof(
      HTTP2,
      'is set on each stream in place of what the client sent; the lines keep order and repeats',
    ),
  },
  {
    asked: 'trailers',
    ...all(shared('trailers of a request and of its answer are kept')),
    http2: proof(HTTP2, 'pass both ways with trailers, those that authenticate or override left out'),
  },
  {
    asked: 'a client of HTTP/1.0 and an origin that chunks',
    tunnel: BYTES,
    interception: shared('a client of HTTP/1.0 is not given chunks'),
    http2: NO_1_1,
    plain: shared('a client of HTTP/1.0 is not given chunks'),
  },
  {
    asked: 'a header of 20 KB',
    ...all(shared('a header of 20 KB passes, in a request and in an answer')),
    http2: proof(STREAMS, 'a header of 20 KB passes, in a request and in an answer'),
  },
  {
    asked: 'a WebSocket',
    tunnel: BYTES,
    interception: proof('way/websocket.test.ts', 'of `ws`: compressed messages, in text and in bytes'),
    http2: proof('way/websocket.test.ts', 'passes where the origin takes them, with the secret'),
    plain: proof(PLAIN, 'that switches protocols unasked'),
  },
  {
    asked: 'a client of HTTP/2 alone',
    tunnel: BYTES,
    interception: proof(HTTP2, 'is HTTP/2 only where the client offers it and the origin speaks it'),
    http2: proof(
      HTTP2,
      'is set on each stream in place of what the client sent; the lines keep order and repeats',
    ),
    plain: NO_TLS,
  },
  {
    asked: 'an SNI that is not the host of the CONNECT',
    tunnel: BYTES,
    interception: proof('way/interception.test.ts', 'is refused for another name than the CONNECT’s'),
    http2: ONE_CONNECTION,
    plain: NO_TLS,
  },
  {
    asked: 'a ClientHello in pieces',
    tunnel: BYTES,
    interception: proof('way/interception-streams.test.ts', 'of a handshake come %i at a time'),
    http2: ONE_CONNECTION,
    plain: NO_TLS,
  },
  {
    asked: 'a client that is silent after the 200',
    tunnel: proof('way/tunnel.test.ts', 'in both directions ends a tunnel; one direction keeps it'),
    interception: proof(LONG, 'in an interception says nothing after the 200'),
    http2: ONE_CONNECTION,
    plain: NO_CONNECT,
  },
  {
    asked: 'a head that never ends',
    tunnel: proof('long/silent-client.test.ts', '%s is told and let go'),
    interception: proof('long/silent-client.test.ts', '%s is told and let go'),
    http2: ONE_CONNECTION,
    plain: proof('long/silent-client.test.ts', '%s is told and let go'),
  },
  {
    asked: 'an upload that takes minutes',
    ...all(proof(LONG, 'that uploads for 340 s is served')),
    http2: proof(
      STREAMS,
      'a client that finishes first still gets a reply that comes later, and an upload takes its time',
    ),
  },
  {
    asked: 'a transfer that takes longer than any silence may',
    tunnel: proof(SLOW, 'an upload takes as long as it takes'),
    interception: proof(SLOW, 'a stream down takes as long as it takes'),
    http2: proof(
      STREAMS,
      'a client that finishes first still gets a reply that comes later, and an upload takes its time',
    ),
    plain: proof(SLOW, 'silence of both sides ends it, and not as if it were whole'),
  },
];
