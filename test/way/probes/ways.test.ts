/** Every probe in every way that it applies to. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from 'vitest';
import { PROBES, READING_PROBES } from './probes.ts';
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

describe.each(['a tunnel', 'an interception', 'plain HTTP'] as const)('through %s', (name) => {
  it.each(PROBES)('$title', async ({ run }) => void (await run(stand, stand.way(name))));
});

describe.each(['an interception', 'plain HTTP'] as const)('read by the gate, in %s', (name) => {
  it.each(READING_PROBES)('$title', async ({ run }) => void (await run(stand, stand.way(name))));
});
