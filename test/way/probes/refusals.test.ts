/** How refusals end: a client that has left is let go, and the refusal of a HEAD has no body. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { connectHead } from '../../support/client.ts';
import { Stand } from './stand.ts';

let stand: Stand;
let count = 0;
beforeAll(async () => {
  stand = await Stand.start();
});
beforeEach(() => {
  count += 1;
  return stand.renew(`e${count}`);
});
afterEach(() => stand.release());
afterAll(() => stand?.close());

it('a client that has left with half a head behind its 407 is let go at once', async () => {
  const client = await stand.knock();
  client.send(`${connectHead('open.test:1')}CONNECT a.test:443 HTTP/1.1\r\nHost: a`).finish();
  expect(await client.ending(3_000)).toBe('end');
});

describe('a refused HEAD has no body (RFC 9110 9.3.2)', () => {
  it('in an interception', async () => {
    const client = await stand.way('an interception').enter();
    client.send('HEAD /a HTTP/1.1\r\nHost: other.test\r\n\r\n');
    await client.ending();
    expect(client.received.toString()).toMatch(/^HTTP\/1\.1 421 .*\r\n\r\n$/s);
  });

  it('in plain HTTP', async () => {
    const client = await stand.knock();
    client.send(
      `HEAD http://denied.test/ HTTP/1.1\r\nHost: a\r\nProxy-Authorization: Bearer ${stand.token}\r\n\r\n`,
    );
    await client.ending();
    expect(client.received.toString()).toMatch(/^HTTP\/1\.1 403 .*\r\n\r\n$/s);
  });
});
