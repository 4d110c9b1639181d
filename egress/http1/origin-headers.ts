/** The headers of a request that go on to the origin of an interception. */
import { formatTarget, type Target } from '../../core-lite/network/target.ts';
import { dropConnectionHeaders } from './connection-headers.ts';
import type { HeaderLine, RequestHead } from './head.ts';
import { asksWebSocket, upgradeHeaders } from './upgrade.ts';
import { makeLine } from './write-head.ts';

/** An HTTP/1.0 client may have sent no Host. */
export function originHeaders(head: RequestHead, target: Target): readonly HeaderLine[] {
  const kept = asksWebSocket(head) ? upgradeHeaders(head.headers) : dropConnectionHeaders(head.headers);
  if (kept.some(({ name }) => name === 'host')) return kept;
  return [makeLine('Host', target.port === 443 ? target.host : formatTarget(target)), ...kept];
}
