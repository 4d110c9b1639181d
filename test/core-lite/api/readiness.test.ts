/** Health and readiness while the database goes and comes back. */
import { collectDefaultMetrics, Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildObserve } from '../../../core-lite/api/observe.ts';
import { openDatabase } from '../../../core-lite/database/pool.ts';
import { Secret } from '../../../core-lite/secret.ts';
import { type Core, startCoreForTest } from '../../support/core.ts';

let core: Core;
beforeAll(async () => {
  core = await startCoreForTest();
});
afterAll(() => core?.close());

describe('core', () => {
  it('is healthy and ready', async () => {
    expect(await statuses()).toEqual({ health: 200, ready: 200, call: 200 });
  });

  it('is healthy and not ready without its database, and ready again when that is back', async () => {
    await core.proxy.cut();
    expect(await statuses()).toEqual({ health: 200, ready: 503, call: 503 });
    const { text } = await core.ask('GET', '/v1/vaults');
    expect(JSON.parse(text)).toMatchObject({ error: { code: 'database_unreachable' } });
    await core.proxy.mend();
    await expect.poll(statuses).toEqual({ health: 200, ready: 200, call: 200 });
  });

  it('answers within its time limit when the database hangs', async () => {
    core.proxy.freeze();
    const began = performance.now();
    expect((await core.ask('GET', '/ready')).status).toBe(503);
    expect(performance.now() - began).toBeLessThan(6_500);
    core.proxy.thaw();
    await expect.poll(statuses, { timeout: 8_000 }).toEqual({ health: 200, ready: 200, call: 200 });
  });

  it('says nothing of its database to a stranger', async () => {
    await core.proxy.cut();
    const { text } = await core.ask('GET', '/ready', undefined, { headers: { authorization: '' } });
    await core.proxy.mend();
    expect(text).not.toMatch(/127\.0\.0\.1|postgres:\/\/|password|ECONN/);
  });
});

describe('the port for observation', () => {
  it('says health, readiness and metrics', async () => {
    const registry = new Registry();
    collectDefaultMetrics({ register: registry });
    const database = openDatabase(new Secret(core.proxy.through(core.installation.url)), 'sallyport_core');
    const app = buildObserve({ registry, database });
    const base = await app.listen({ host: '127.0.0.1', port: 0 });
    const status = async (path: string) => (await fetch(base + path)).status;
    expect([await status('/health'), await status('/ready'), await status('/none')]).toEqual([200, 200, 404]);
    expect(await (await fetch(`${base}/metrics`)).text()).toContain('process_cpu_seconds_total');
    await core.proxy.cut();
    expect([await status('/health'), await status('/ready')]).toEqual([200, 503]);
    await core.proxy.mend();
    await expect.poll(() => status('/ready')).toBe(200);
    await app.close();
    await database.close();
  });
});

async function statuses(): Promise<{ health: number; ready: number; call: number }> {
  const [health, ready, call] = await Promise.all(
    ['/health', '/ready', '/v1/vaults'].map((path) => core.ask('GET', path)),
  );
  return { health: health?.status ?? 0, ready: ready?.status ?? 0, call: call?.status ?? 0 };
}
