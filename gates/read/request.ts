/**
 * Whether a request is one to this service at all: its `Host` is ours, it is no request to a proxy, nothing that counts
 * is there twice, and its body is what its chunks hold, not something in a coding that nobody undoes. A page whose name was re-bound to our address, or a client that takes us for a proxy, ends
 * here, before any token is looked at.
 */
import type { IncomingMessage } from 'node:http';
import type { RefusalReason } from '../reasons.ts';

/** @param names the hosts that we answer to, lower case, IPv6 in brackets */
export function judgeRequest(request: IncomingMessage, names: ReadonlySet<string>): RefusalReason | null {
  const { rawHeaders, headers, url = '' } = request;
  if (rawHeaders.length > MAX_HEADERS * 2 || !url.startsWith('/') || url.includes('#'))
    return 'request_malformed';
  // Of more than one, also in lines of their own, Node minds the last alone.
  if (!CHUNKED.test(headers['transfer-encoding'] ?? 'chunked')) return 'request_malformed';
  const hosts: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.toLowerCase() === 'host') hosts.push(rawHeaders[i + 1] ?? '');
  }
  const [host] = hosts;
  if (hosts.length !== 1 || host === undefined) return 'request_malformed';
  const name = HOST.exec(host)?.[1]?.toLowerCase();
  return name !== undefined && names.has(name) ? null : 'host_refused';
}

const HOST = /^([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;
const CHUNKED = /^chunked$/i;
const MAX_HEADERS = 200;
