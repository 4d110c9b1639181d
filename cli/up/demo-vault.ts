/**
 * The demo's secret in the vault `demo`, put there through the admin API like any other. One that is there is the
 * user's, who may have rotated it or given it other hosts: only the demo's own host follows the demo's port.
 */

import { Fault } from '../../core-lite/errors.ts';
import type { Secret } from '../../core-lite/secret.ts';
import type { ListenAddress } from '../../core-lite/setting-kinds.ts';
import { type Answer, ask } from './ask.ts';
import type { Demo } from './demo.ts';

export const DEMO_VARIABLE = 'DEMO_API_KEY';
/** As `VAULT/NAME`. */
export const DEMO_CREDENTIAL = 'demo/api-key';

/** Puts the secret where it is not there or was made anew. Rejects with Fault `internal` where core refuses. */
export async function ensureDemoCredential(
  core: ListenAddress,
  adminKey: Secret,
  { api, former, secret }: Pick<Demo, 'api' | 'former' | 'secret'>,
): Promise<void> {
  const found = await findHosts(core, adminKey);
  const moved = former !== null && found?.join() === former.api;
  if (found && !moved && !secret.isNew) return;
  accept(await ask(core, { method: 'PUT', path: VAULT, adminKey }));
  const body = {
    kind: 'environment_secret',
    variable: DEMO_VARIABLE,
    hosts: [api],
    secret: { value: secret.value },
  };
  accept(await ask(core, { method: 'PUT', path: CREDENTIAL, adminKey, body }));
}

/** Where the credential may go; `null` where there is none. */
async function findHosts(core: ListenAddress, adminKey: Secret): Promise<readonly string[] | null> {
  const { text } = accept(await ask(core, { path: '/v1/credentials', adminKey }));
  // Core's own answer, which its schema made.
  const credentials = JSON.parse(text) as readonly { vault: string; name: string; hosts: string[] }[];
  const found = credentials.find(({ vault, name }) => `${vault}/${name}` === DEMO_CREDENTIAL);
  return found?.hosts ?? null;
}

function accept(answer: Answer): Answer {
  if (answer.status === 200 || answer.status === 204) return answer;
  throw new Fault('internal', `core answered ${answer.status} for ${DEMO_CREDENTIAL}: ${answer.text}`);
}

const VAULT = '/v1/vaults/demo';
const CREDENTIAL = `${VAULT}/credentials/api-key`;
