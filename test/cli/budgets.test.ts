/** `budget`, as a user types it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startWorld, type World } from '../support/world.ts';
import { sallyport, settingsOf } from './sallyport.ts';

let world: World;
let variables: Record<string, string>;

beforeAll(async () => {
  world = await startWorld();
  variables = settingsOf(world);
});
afterAll(() => world?.close());

const type = (...words: string[]) => sallyport(words, { variables });
const put = (...words: string[]) => type('budget', 'put', ...words);

describe('budget', () => {
  it('puts, lists and removes', async () => {
    expect((await put('all', '--scope', 'tenant', '--cost', '12.5', '--per', 'month')).out).toEqual([
      'budget all is $12.5 a month for all together',
    ]);
    expect((await put('each', '--scope', 'turn', '--tokens', '2000000', '--per', 'lifetime')).out).toEqual([
      'budget each is 2000000 tokens over its lifetime for each turn',
    ]);
    expect((await put('ann', '--scope', 'agent:ann', '--requests', '60', '--per', 'minute')).out).toEqual([
      'budget ann is 60 requests a minute for the agent ann',
    ]);
    const list = (await type('budget', 'list')).out.map((line) => line.split(/ {2,}/));
    const moment = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:00Z$/);
    expect(list).toEqual([
      ['NAME', 'SCOPE', 'LIMIT', 'USED', 'RESERVED', 'LEFT', 'RESETS', 'FULLEST'],
      ['all', 'tenant', '$12.5 month', '$0', '$0', '$12.5', moment, '-'],
      ['ann', 'agent:ann', '60 requests minute', '0', '0', '60', moment, '-'],
      ['each', 'turn', '2000000 tokens lifetime', '0', '0', '2000000', '-', '-'],
    ]);
    expect(JSON.parse((await type('budget', 'list', '--json')).out.join('\n'))).toHaveLength(3);
    expect((await type('budget', 'rm', 'ann')).out).toEqual(['budget ann is deleted']);
    expect((await type('budget', 'rm', 'ann')).err.join('\n')).toContain('see sallyport budget list');
  });

  it('is refused for a session that is not there', async () => {
    const limit = ['--requests', '1', '--per', 'lifetime'];
    const none = await put('one', '--scope', 'session:nope', ...limit);
    expect([none.status, none.err.join()]).toEqual([1, expect.stringContaining('nope')]);
    const { id } = (await world.call('POST', '/v1/sessions', { agent: 'a' })) as { id: string };
    expect((await put('one', '--scope', `session:${id}`, ...limit)).out).toEqual([
      `budget one is 1 request over its lifetime for the session ${id}`,
    ]);
  });

  const CASES: readonly (readonly string[])[] = [
    ['--cost', '1', '--per', 'day'],
    ['--scope', 'tenant', '--cost', '1'],
    ['--scope', 'tenant', '--per', 'day'],
    ['--scope', 'tenant', '--cost', '1', '--tokens', '1', '--per', 'day'],
    ['--scope', 'tenant', '--cost', '1e3', '--per', 'day'],
    ['--scope', 'tenant', '--cost', '0.00000000001', '--per', 'day'],
    ['--scope', 'tenant', '--tokens', '1.5', '--per', 'day'],
    ['--scope', 'tenant:me', '--cost', '1', '--per', 'day'],
    ['--scope', 'user', '--cost', '1', '--per', 'day'],
    ['--scope', 'tenant', '--cost', '1', '--per', 'week'],
  ];
  for (const words of CASES) {
    it(`is used wrongly: ${words.join(' ')}`, async () => expect((await put('b', ...words)).status).toBe(2));
  }
});
