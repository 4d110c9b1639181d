/**
 * The head of a plain request as an HTTP parent proxy gets it: the target in absolute form (RFC 9112 3.2.2), and the
 * gate's own login, which the client never sees and never sends.
 */
import type { ParentLogin } from '../../core-lite/network/parent-proxy.ts';
import { formatTarget, type Target } from '../../core-lite/network/target.ts';
import type { RequestHead } from '../http1/head.ts';
import { makeLine } from '../http1/write-head.ts';
import { basicOf } from './http-connect.ts';

/** @param head in origin form, with nothing in it that was meant for a proxy */
export function absoluteForm(head: RequestHead, target: Target, login: ParentLogin | null): RequestHead {
  const authority = target.port === 80 ? target.host : formatTarget(target);
  // RFC 9112 3.2.4: `OPTIONS *` is a URL without a path on its way to the last proxy.
  const path = head.target === '*' ? '' : head.target;
  const line = login ? [makeLine('Proxy-Authorization', basicOf(login).reveal())] : [];
  return { ...head, target: `http://${authority}${path}`, headers: [...head.headers, ...line] };
}
