/**
 * Faults that users of proxies of this kind report, in short, and which test shows that we have none of them. What is
 * not proved by a test says why. A test holds that each of them exists.
 */
import { type None, none, type Proof, proof, shared } from './proofs.ts';

const HANDSHAKE = 'way/probes/handshake.test.ts';
const FAULTS = 'way/probes/faults.test.ts';
const KIT = none('seen by the kit of clients; docs/clients.md has what came of it');

export const HANDSHAKE_FAULTS: Readonly<Record<string, readonly (Proof | None)[]>> = {
  'missing credentials answered without a challenge': [
    proof(HANDSHAKE, 'serves curl --proxy-anyauth, and curl that says Basic at once'),
    proof(
      'way/injection.test.ts',
      'git, which asks without credentials first, gets the secret inside its Basic value',
    ),
  ],
  'a 407 that closes the connection': [
    proof('way/connect.test.ts', 'is followed by the same connection with a token'),
    proof(HANDSHAKE, 'is asked again on the same connection after a 407'),
  ],
  'a long password cut off by the client': [proof(HANDSHAKE, 'is short enough for every client')],
  'a password that stays percent-encoded': [
    proof('way/connect-heads.test.ts', 'the password, percent-encoded'),
  ],
  'a length or a coding on the 200': [proof(HANDSHAKE, 'has no length and no coding: %s')],
  'https in absolute form': [proof('way/plain.test.ts', 'https')],
  'the proxy’s credential at the origin': [
    proof(HANDSHAKE, 'takes %s, and shows the origin nothing of it'),
    shared('what is named by Connection, and what is meant for a proxy, goes no further'),
  ],
  'no proxy but one in TLS': [
    proof('way/connect-heads.test.ts', 'as it should be'),
    proof('way/tls-listener.test.ts', 'a tunnel keeps early bytes and half-closes'),
  ],
};

export const TRUST_FAULTS: Readonly<Record<string, readonly (Proof | None)[]>> = {
  'fetch of Node ignores the proxy': [proof('way/run.test.ts', 'fetch of Node')],
  'Java ignores the proxy and its password': [
    proof('way/run-java.test.ts', 'uses a secret that it never holds'),
  ],
  'a leaf without an authority key id; a CA without extensions': [
    proof('long/verifiers.test.ts', 'shakes hands with %s under the strict rules'),
  ],
  'an empty extended key usage': [proof('long/verifiers.test.ts', 'verifies %s')],
  'a leaf that is older than its CA': [
    proof('certs/leaf.test.ts', 'a leaf from a CA made in the same moment nests in it'),
  ],
  'Go on macOS reads no file': [none('no variable changes it; docs/clients.md says what to do')],
  'Rust’s bundles ignore the system’s store': [KIT],
  'gRPC takes no socks5h in grpc_proxy': [none('no variable of ours names a SOCKS proxy')],
  'NO_PROXY is read in many ways': [none('ours names loopback alone, in forms that all of them read'), KIT],
  'sudo drops the variables': [none('outside of what we can see; docs/clients.md says what to do')],
  'a ClientHello that needs two packets': [
    proof(HANDSHAKE, 'with a post-quantum share, in parts cut at each %i. third of it, is heard'),
    proof('way/interception-streams.test.ts', 'of a handshake come %i at a time'),
  ],
};

export const PROTOCOL_FAULTS: Readonly<Record<string, readonly (Proof | None)[]>> = {
  'a secret costs HTTP/2, and gRPC with it': [
    proof('way/grpc.test.ts', 'is answered, with trailers; the origin has the secret'),
  ],
  'a protocol that the client did not offer': [
    proof('way/http2.test.ts', 'is HTTP/2 only where the client offers it and the origin speaks it'),
  ],
  'events that are held up': [
    shared('each event of a stream arrives before the origin sends the next'),
    proof('way/scrubbing.test.ts', 'is not held up: each event arrives before the next is sent'),
  ],
  'streams that end after some minutes': [
    proof('way/probes/slow.test.ts', 'a stream down takes as long as it takes'),
  ],
  'WebSockets that lose their headers or hang': [
    proof('way/websocket.test.ts', 'of `ws`: compressed messages, in text and in bytes'),
    proof('way/websocket.test.ts', 'keeps half-close, and is recorded with its bytes'),
  ],
  'a secret inside a message of a WebSocket': [
    none('not offered: messages pass as they came, with what the client wrote'),
  ],
  'Expect: 100-continue hangs': [
    proof('way/interception-streams.test.ts', 'to Expect: %s, refusing it'),
    proof('way/plain.test.ts', 'streams both ways: chunks, trailers and a 100 as they come'),
  ],
  'chunks to a client of HTTP/1.0': [shared('a client of HTTP/1.0 is not given chunks')],
  'a compressed body that is damaged': [
    proof('way/interception-streams.test.ts', 'that are coded pass as they are: %s'),
    proof('way/scrubbing.test.ts', 'that is clean passes to the byte'),
    proof('way/run.test.ts', 'git clones from a bound host and through a tunnel'),
  ],
  'a placeholder that comes in pieces': [
    proof(FAULTS, 'that comes one byte at a time is replaced all the same'),
  ],
  'the last bytes before a reset': [
    proof(FAULTS, 'an answer of 2 MB behind which the origin closes arrives whole'),
    proof(
      'way/tunnel.test.ts',
      'at the origin right behind its last bytes does not end cleanly at the client',
    ),
    shared('no answer that breaks off looks whole'),
  ],
  'an answer that the client’s own bytes take away': [
    proof('way/interception-endings.test.ts', 'behind an early answer reads it whole (%i)'),
    proof('way/connect-heads.test.ts', 'answers a refused client that goes on sending'),
  ],
  'memory that grows with what passes': [proof('long/large-bodies.test.ts', '2 GiB %s')],
  'a half-close that cuts the reply': [
    shared('a client that finishes first still gets a reply that comes later'),
  ],
  'a server for each host': [
    proof('fuzz/interception.test.ts', 'an interception passes nothing that a strict reading does not'),
    proof('way/interception-churn.test.ts', '150 interceptions, each broken off somewhere'),
  ],
  'a 502 now and then in a burst': [
    proof('way/probes/burst.test.ts', 'fifty at once, ten after ten, are all answered: %s'),
  ],
  'sockets that stay; an accept loop that dies': [
    proof('way/tunnel-load.test.ts', 'leave nothing behind'),
    proof('long/churn.test.ts', '100,000 tunnels leave nothing behind'),
    proof('long/few-files.test.ts', 'that has run out of files waits, and serves again'),
  ],
  'slow heads, and idle tunnels that are ended': [
    proof('long/silent-client.test.ts', '%s is told and let go'),
    proof('way/tunnel.test.ts', 'in both directions ends a tunnel; one direction keeps it'),
  ],
  'a reader that stops fills the memory': [
    proof(FAULTS, 'an answer that the client does not read yet is not kept by the gate'),
    proof('way/bodies.test.ts', 'stops the origin of an HTTP/2 stream; other streams of the session go on'),
  ],
};

export const POLICY_FAULTS: Readonly<Record<string, readonly (Proof | None)[]>> = {
  'a second request on a connection that was checked': [
    proof(HANDSHAKE, 'of an interception carries no second request to another host'),
    proof(HANDSHAKE, 'of plain HTTP carries no second request to a host that is denied'),
    proof('way/interception.test.ts', 'another Host'),
  ],
  'names and addresses in other spellings': [
    proof('core-lite/network/target.test.ts', 'addresses, in every spelling'),
    proof('core-lite/network/host-pattern.test.ts', 'which hosts a pattern covers'),
  ],
  'a tunnel to the proxy itself': [proof(HANDSHAKE, 'is not reached through itself: %s')],
  'every NAT64 address refused': [
    proof(
      'core-lite/network/address-class.test.ts',
      'that embeds an IPv4 address in a known way is refused, unless its NAT64 is named',
    ),
  ],
  'a placeholder inside Basic': [
    proof(
      'way/injection.test.ts',
      'git, which asks without credentials first, gets the secret inside its Basic value',
    ),
  ],
  'a secret that is silently not put on': [
    proof('way/interception.test.ts', 'two that want one header are refused, and nothing is sent'),
    proof('way/injection.test.ts', '%s is refused at the CONNECT'),
  ],
  'AWS SigV4': [none('not offered: docs/clients.md says so')],
  'a secret that comes back': [
    proof(
      'way/scrubbing.test.ts',
      'in a header, an interim answer and a text has stars there, and is counted',
    ),
  ],
  'two lengths, both lengths, an upgrade to h2c': [
    shared('refused: '),
    proof(
      'way/interception.test.ts',
      'hop-by-hop headers, the proxy’s credential, an upgrade, and what Connection nominates but the framing',
    ),
  ],
  'a parent proxy that interceptions pass by': [
    proof(
      'way/parent.test.ts',
      'an interception puts the secret on inside verified TLS, on connections that are kept',
    ),
  ],
  'an origin of a private CA': [
    proof(
      'way/interception.test.ts',
      'of an origin whose certificate is bad is a 502 at the CONNECT, with the code',
    ),
  ],
  'interception of what nobody bound': [
    proof('way/tunnel.test.ts', 'of a TLS handshake pass, and the client verifies the origin itself'),
  ],
  'a record that lacks rows, or holds queries': [
    proof('way/crash.test.ts', 'whenever egress is killed'),
    proof(
      'way/connect-unavailable.test.ts',
      'that knows but cannot record opens nothing: record_unavailable',
    ),
    proof(
      'way/interception.test.ts',
      'has a row for each exchange: method, path without its query, status, which credential, bytes',
    ),
  ],
  'a refusal that looks like an outage': [
    proof('egress/act/refuse.test.ts', '%s is one well-formed message in ASCII'),
  ],
};
