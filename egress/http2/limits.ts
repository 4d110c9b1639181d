/**
 * What a peer of an HTTP/2 session may cost, on either side. Node and nghttp2 end a session that passes their limits:
 * resets, settings, pings and CONTINUATION frames in floods, invalid frames. What is set here are the figures that
 * their defaults leave too wide, and the windows: what one stream may make the gate hold while its reader is slow.
 */
import type { ClientSessionOptions, Http2Session, ServerSessionOptions } from 'node:http2';

/** @param webSockets whether WebSockets may be opened over streams (RFC 8441): only where the origin takes them */
export function clientSideOptions(webSockets: boolean): ServerSessionOptions {
  return {
    ...COMMON,
    settings: {
      maxConcurrentStreams: MAX_STREAMS,
      initialWindowSize: CLIENT_WINDOW_BYTES,
      maxHeaderListSize: MAX_HEADER_BYTES,
      enableConnectProtocol: webSockets,
    },
    maxSessionRejectedStreams: 100,
    maxSessionInvalidFrames: 100,
  };
}

export function originSideOptions(): ClientSessionOptions {
  return {
    ...COMMON,
    settings: {
      enablePush: false,
      initialWindowSize: ORIGIN_WINDOW_BYTES,
      maxHeaderListSize: MAX_HEADER_BYTES,
    },
    maxReservedRemoteStreams: 0,
  };
}

/** The window of the session as a whole. Node gives back at once what came: a stream that is not read stops only itself. */
export function widen(session: Http2Session): void {
  if (!session.destroyed) session.setLocalWindowSize(SESSION_WINDOW_BYTES);
}

const SESSION_WINDOW_BYTES = 16 * 1024 * 1024;
const MAX_STREAMS = 100;
/** The figures for heads, as in HTTP/1.1; the pseudo headers come on top. */
const MAX_HEADER_BYTES = 64 * 1024;
const MAX_HEADER_FIELDS = 200 + 5;
/**
 * What one stream may make the gate hold, each way. Clients are near: a small window fills a fast wire. Origins are far:
 * 5 MiB a second at 100 ms. An environment has as many streams as it may have connections (`decide/exchange.ts`).
 */
const CLIENT_WINDOW_BYTES = 128 * 1024;
const ORIGIN_WINDOW_BYTES = 512 * 1024;

const COMMON = {
  maxHeaderListPairs: MAX_HEADER_FIELDS,
  // What may not stand twice is the origin's to judge, as in HTTP/1.1: lines pass as they came.
  strictSingleValueFields: false,
} as const;
