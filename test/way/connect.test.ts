import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Service } from '../../core-lite/service.ts';
import { startWorld, type World } from '../support/world.ts';

describe('smoke', () => {
  let world: World;
  let egress: Service;
  let origin: Server;
  let folder: string;
  let port: number;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sp-'));
    await writeFile(join(folder, 'hosts'), '127.0.0.1 open.test denied.test\n');
    origin = createServer((s) => s.pipe(s));
    await new Promise<void>((r) => origin.listen(0, '127.0.0.1', r));
    port = (origin.address() as { port: number }).port;
    world = await startWorld({
      SALLYPORT_HOSTS_FILE: join(folder, 'hosts'),
      SALLYPORT_OPEN_NETWORKS: 'open.test=127.0.0.0/8',
    });
    egress = await world.egress();
    await world.call('PUT', '/v1/environments/e', { allow: [`open.test:${port}`] });
  });
  afterAll(async () => {
    await world?.close();
    origin.close();
    await rm(folder, { recursive: true });
  });
  it('opens', async () => {
    const token = await world.token('e');
    const { connect } = await import('node:net');
    const ask = (target: string): Promise<string> =>
      new Promise((resolve) => {
        const s: Socket = connect(egress.address.port, '127.0.0.1');
        let got = '';
        s.on('data', (d) => {
          got += d;
          if (got.includes('ping') || got.includes('sallyport')) {
            s.end();
            resolve(got);
          }
        });
        s.on('close', () => resolve(got));
        s.write(
          `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\nProxy-Authorization: Basic ${Buffer.from(`x:${token}`).toString('base64')}\r\n\r\nping`,
        );
      });
    expect(await ask(`open.test:${port}`)).toContain('200');
    console.log(await ask(`denied.test:443`));
    await expect.poll(async () => (await world.call<unknown[]>('GET', '/v1/connections')).length).toBe(2);
    console.log(JSON.stringify(await world.call('GET', '/v1/connections'), null, 1));
    console.log(world.logged());
  });
});
