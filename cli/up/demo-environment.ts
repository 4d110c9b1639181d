/**
 * The environment `demo`, made through the admin API like any other. One that is there is the user's: only the demo's
 * own entries in its allowlist follow the demo's port, and what an earlier version made is brought to what this one
 * makes.
 */

import { Fault } from '../../core-lite/errors.ts';
import type { Secret } from '../../core-lite/secret.ts';
import type { ListenAddress } from '../../core-lite/setting-kinds.ts';
import { type Answer, ask } from './ask.ts';
import type { Demo } from './demo.ts';
import { DEMO_CREDENTIAL } from './demo-vault.ts';

export const DEMO_ENVIRONMENT = 'demo';

/** Makes the environment where there is none. Rejects with Fault `internal` where core refuses. */
export async function ensureDemoEnvironment(
  core: ListenAddress,
  adminKey: Secret,
  demo: Pick<Demo, 'origin' | 'api' | 'former'>,
  say: (line: string) => void,
): Promise<void> {
  const found = await ask(core, { path: PATH, adminKey });
  const present = found.status === 404 ? null : read(found);
  const kept = present && !isOfEarlierVersion(present, demo);
  const wanted = kept ? moveEntries(present, demo) : { ...present, ...makeSettings(demo) };
  if (wanted !== present)
    read(await ask(core, { method: 'PUT', path: PATH, adminKey, body: settingsOf(wanted) }));
  const { allow, credentials } = wanted;
  const missing = [
    ...[demo.origin, demo.api].filter((each) => !allow.includes(each)),
    ...[DEMO_CREDENTIAL].filter((each) => !credentials.includes(each)),
  ];
  if (missing.length > 0)
    say(`the environment ${DEMO_ENVIRONMENT} was changed and lacks ${missing.join(', ')}: so will the demo`);
}

interface Settings {
  readonly allow: readonly string[];
  /** Each `VAULT/NAME`. */
  readonly credentials: readonly string[];
  readonly [name: string]: unknown;
}

function makeSettings({ origin, api }: Pick<Demo, 'origin' | 'api'>): Settings {
  return { allow: [origin, api], credentials: [DEMO_CREDENTIAL] };
}

/** Allows just what the version allowed that had no secret. */
function isOfEarlierVersion(
  { allow, credentials }: Settings,
  { origin, former }: Pick<Demo, 'origin' | 'former'>,
): boolean {
  return credentials.length === 0 && [origin, former?.origin].includes(allow.join());
}

/** The same settings with the entries of the former place at the place of now; `present` itself where none is. */
function moveEntries(
  present: Settings,
  { origin, api, former }: Pick<Demo, 'origin' | 'api' | 'former'>,
): Settings {
  const moves = new Map(former ? [[former.origin, origin] as const, [former.api, api] as const] : []);
  if (!present.allow.some((entry) => moves.has(entry))) return present;
  const allow = [...new Set(present.allow.map((entry) => moves.get(entry) ?? entry))];
  return { ...present, allow };
}

function read({ status, text }: Answer): Settings {
  if (status !== 200) {
    throw new Fault('internal', `core answered ${status} for the environment ${DEMO_ENVIRONMENT}: ${text}`);
  }
  // Core's own answer, which its schema made.
  return JSON.parse(text) as Settings;
}

/** What of an environment can be put: the rest is core's to say. */
function settingsOf(environment: Settings): object {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => SETTABLE.has(name)));
}

const PATH = `/v1/environments/${DEMO_ENVIRONMENT}`;
const SETTABLE = new Set(['kind', 'mode', 'maxConnections', 'newPerSecond', 'allow', 'credentials']);
