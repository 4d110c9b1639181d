import { describe, expect, it } from 'vitest';
import { REFUSALS, type RefusalReason } from '../../../core-lite/reasons.ts';
import { formatRefusal } from '../../../egress/act/refuse.ts';

const REASONS = Object.keys(REFUSALS) as RefusalReason[];

describe('the answer to a refused CONNECT', () => {
  it.each(REASONS)('%s is one well-formed message in ASCII', (reason) => {
    const text = formatRefusal({ reason, connectionId: 'con_1', keepAlive: false });
    const [head = '', body = '', ...rest] = text.split('\r\n\r\n');
    const { status, remedy } = REFUSALS[reason];
    expect(rest).toEqual([]);
    expect(text).toMatch(/^[\x20-\x7e\r\n]*$/);
    expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [A-Za-z ]+\r\n`));
    const lines = head.split('\r\n').slice(1);
    for (const line of lines) expect(line).toMatch(/^[A-Za-z-]+: \S.*$/);
    expect(lines).toContain(`Sallyport-Reason: ${reason}`);
    expect(lines).toContain(`Sallyport-Remedy: ${remedy}`);
    expect(lines).toContain('Sallyport-Connection: con_1');
    expect(lines).toContain(`Content-Length: ${Buffer.byteLength(body)}`);
    expect(lines).toContain('Connection: close');
    expect(lines.some((line) => line.startsWith('Proxy-Authenticate: Basic '))).toBe(status === 407);
    expect(lines.some((line) => line.startsWith('Allow: GET, '))).toBe(status === 405);
    expect(body).toMatch(/^sallyport: [^\n]+ \(con_1\)\n$/);
  });

  it('names no row where there is none, and keeps a connection that may be asked on', () => {
    const text = formatRefusal({ reason: 'token_missing', connectionId: null, keepAlive: true });
    expect(text).not.toContain('Sallyport-Connection');
    expect(text).not.toContain('con_');
    expect(formatRefusal({ reason: 'method_refused', connectionId: null, keepAlive: false })).toContain(
      '\r\nAllow: CONNECT, GET, ',
    );
    expect(text).toContain('\r\nConnection: keep-alive\r\n');
  });
});
