/** Every command, in the order in which the help text lists them. */
import type { Command } from './command.ts';
import { adminEvents } from './commands/admin-events.ts';
import { config } from './commands/config.ts';
import { connections } from './commands/connections.ts';
import { credentialList, credentialRemove, credentialRotate } from './commands/credential.ts';
import { credentialPut } from './commands/credential-put.ts';
import { doctor } from './commands/doctor.ts';
import { envGet, envList, envRemove } from './commands/env.ts';
import { envPut } from './commands/env-put.ts';
import { explain } from './commands/explain.ts';
import { keysImport, keysList, keysRevoke, keysRotate } from './commands/keys.ts';
import { keysExportClass, keysRotateMaster } from './commands/keys-master.ts';
import { migrate } from './commands/migrate.ts';
import { core, egress, up } from './commands/services.ts';
import { tokenEgress } from './commands/token.ts';
import { vaultList, vaultPut, vaultRemove } from './commands/vault.ts';

export const COMMANDS: readonly Command[] = [
  up,
  core,
  egress,
  envPut,
  envGet,
  envList,
  envRemove,
  vaultPut,
  vaultList,
  vaultRemove,
  credentialPut,
  credentialList,
  credentialRotate,
  credentialRemove,
  tokenEgress,
  connections,
  explain,
  keysList,
  keysRotate,
  keysImport,
  keysRevoke,
  keysRotateMaster,
  keysExportClass,
  adminEvents,
  migrate,
  config,
  doctor,
];
