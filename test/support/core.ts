/** Core with its admin API on a real socket, over an installation of its own. */

import { type Config, readConfig } from '../../core-lite/config.ts';
import { openLog } from '../../core-lite/log.ts';
import { startCore } from '../../core-lite/main.ts';
import type { Service } from '../../core-lite/service.ts';
import { makeAdminKey } from '../../core-lite/state/admin.ts';
import { createInstallation, type Installation, MASTER_KEY } from './installation.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

export interface Core {
  readonly installation: Installation;
  readonly service: Service;
  readonly config: Config;
  readonly adminKey: string;
  /** Between core and its database. */
  readonly proxy: TcpProxy;
  readonly logged: () => string;
  /** @param init on top of the admin key and, with a body, JSON */
  ask(method: string, path: string, body?: unknown, init?: RequestInit): Promise<Answer>;
  close(): Promise<void>;
}

export async function startCoreForTest(): Promise<Core> {
  const installation = await createInstallation();
  const proxy = await startTcpProxy(installation.url);
  const config = readConfig({
    SALLYPORT_MASTER_KEY: MASTER_KEY,
    DATABASE_URL: proxy.through(installation.url),
    SALLYPORT_CORE_LISTEN: '127.0.0.1:0',
    SALLYPORT_CORE_OBSERVE_LISTEN: '127.0.0.1:0',
  });
  let logged = '';
  const log = openLog('core', 'debug', {
    write: (line) => {
      logged += line;
    },
  });
  const service = await startCore(config, log);
  const adminKey = (await makeAdminKey(installation.owner, 'test')).reveal();
  return {
    installation,
    service,
    config,
    adminKey,
    proxy,
    logged: () => logged,
    ask: async (method, path, body, init = {}) => {
      const answer = await fetch(`http://127.0.0.1:${service.address.port}${path}`, {
        method,
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        ...init,
        headers: {
          authorization: `Bearer ${adminKey}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...init.headers,
        },
      });
      return { status: answer.status, text: await answer.text(), headers: answer.headers };
    },
    close: async () => {
      await service.close();
      await proxy.close();
      await installation.close();
    },
  };
}
