/**
 * The environment `demo`, made through the admin API like any other. One that is there is the user's: only the demo's
 * own entry in its allowlist follows the demo's port.
 */

import { Fault } from '../../core-lite/errors.ts';
import type { Secret } from '../../core-lite/secret.ts';
import type { ListenAddress } from '../../core-lite/setting-kinds.ts';
import { type Answer, ask } from './ask.ts';
import type { Demo } from './demo.ts';

export const DEMO_ENVIRONMENT = 'demo';

/** Makes the environment where there is none. Rejects with Fault `internal` where core refuses. */
export async function ensureDemoEnvironment(
  core: ListenAddress,
  adminKey: Secret,
  { origin, formerOrigin }: Pick<Demo, 'origin' | 'formerOrigin'>,
  say: (line: string) => void,
): Promise<void> {
  const found = await ask(core, { path: PATH, adminKey });
  if (found.status === 404) return put(core, adminKey, { allow: [origin] });
  const present = read(found);
  if (present.allow.includes(origin)) return;
  if (formerOrigin !== null && present.allow.includes(formerOrigin)) {
    const allow = present.allow.map((entry) => (entry === formerOrigin ? origin : entry));
    return put(core, adminKey, { ...settingsOf(present), allow });
  }
  say(
    `the environment ${DEMO_ENVIRONMENT} was changed and does not allow ${origin}: the demo will be denied`,
  );
}

interface Settings {
  readonly allow: readonly string[];
  readonly [name: string]: unknown;
}

async function put(core: ListenAddress, adminKey: Secret, body: Settings): Promise<void> {
  read(await ask(core, { method: 'PUT', path: PATH, adminKey, body }));
}

function read({ status, text }: Answer): Settings {
  if (status !== 200) {
    throw new Fault('internal', `core answered ${status} for the environment ${DEMO_ENVIRONMENT}: ${text}`);
  }
  // Core's own answer, which its schema made.
  return JSON.parse(text) as Settings;
}

/** What of an environment can be put: the rest is core's to say. */
function settingsOf(environment: Settings): Settings {
  const entries = Object.entries(environment).filter(([name]) => SETTABLE.has(name));
  return { ...Object.fromEntries(entries), allow: environment.allow };
}

const PATH = `/v1/environments/${DEMO_ENVIRONMENT}`;
const SETTABLE = new Set(['kind', 'mode', 'maxConnections', 'newPerSecond', 'credentials']);
