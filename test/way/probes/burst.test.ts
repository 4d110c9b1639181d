/** Many at once, in every way: each gets its own answer, and none an error. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Peer } from '../../support/client.ts';
import { readHead, Stand } from './stand.ts';

let stand: Stand;
beforeAll(async () => {
  stand = await Stand.start({}, (socket) => serve(new Peer(socket)));
  await stand.renew('burst');
  void serveBound();
});
afterAll(() => stand?.close());

/** Answers each request with its path. */
function serve(origin: Peer): void {
  const answerAll = async () => {
    for (;;) {
      const path = (await readHead(origin)).split(' ')[1] ?? '';
      origin.send(`HTTP/1.1 200 OK\r\nContent-Length: ${path.length}\r\n\r\n${path}`);
    }
  };
  void answerAll().catch(() => {});
}

async function serveBound(): Promise<void> {
  for (;;) serve(await stand.bound.next());
}

it.each(['a tunnel', 'an interception', 'plain HTTP'] as const)(
  'fifty at once, ten after ten, are all answered: %s',
  async (name) => {
    const way = stand.way(name);
    const ask = async (of: number) => {
      const client = await way.enter();
      for (let i = 0; i < PER_CLIENT; i += 1) {
        const answer = await client.send(way.head('GET', `/${of}/${i}`)).answer();
        expect([answer.status, answer.body]).toEqual([200, `/${of}/${i}`]);
      }
      client.close();
    };
    await Promise.all(Array.from({ length: AT_ONCE }, (_, of) => ask(of)));
  },
);

const AT_ONCE = 50;
const PER_CLIENT = 10;
