/** Every command, in the order in which the help text lists them. */
import type { Command } from './command.ts';
import { adminEvents } from './commands/admin-events.ts';
import { adminKeyAdd, adminKeyList, adminKeyRemove } from './commands/admin-key.ts';
import { budgetList, budgetPut, budgetRemove } from './commands/budget.ts';
import { calls } from './commands/calls.ts';
import { config } from './commands/config.ts';
import { connections } from './commands/connections.ts';
import { credentialList, credentialRemove, credentialRotate } from './commands/credential.ts';
import { credentialPut } from './commands/credential-put.ts';
import { doctor } from './commands/doctor.ts';
import { envGet, envList, envRemove } from './commands/env.ts';
import { envPut } from './commands/env-put.ts';
import { exchanges } from './commands/exchanges.ts';
import { explain } from './commands/explain.ts';
import { gates } from './commands/gates.ts';
import { keysImport, keysList, keysRevoke, keysRotate } from './commands/keys.ts';
import { keysExportClass, keysRotateMaster } from './commands/keys-master.ts';
import { learn } from './commands/learn.ts';
import { migrate } from './commands/migrate.ts';
import { modelList, modelPut, modelRemove } from './commands/model.ts';
import { modelTest } from './commands/model-test.ts';
import { podEnv } from './commands/pod-env.ts';
import { run } from './commands/run.ts';
import { core, egress, up } from './commands/services.ts';
import { sessionEnd, sessionList, sessionOpen } from './commands/session.ts';
import { tenantSet, tenantShow } from './commands/tenant.ts';
import { tokenEgress } from './commands/token.ts';
import { tokenRun } from './commands/token-run.ts';
import { turnCancel, turnEnd, turnStart } from './commands/turn.ts';
import { usage } from './commands/usage.ts';
import { vaultList, vaultPut, vaultRemove } from './commands/vault.ts';

export const COMMANDS: readonly Command[] = [
  up,
  run,
  podEnv,
  core,
  egress,
  gates,
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
  modelPut,
  modelList,
  modelRemove,
  modelTest,
  budgetPut,
  budgetList,
  budgetRemove,
  tenantShow,
  tenantSet,
  sessionOpen,
  sessionList,
  sessionEnd,
  turnStart,
  turnCancel,
  turnEnd,
  tokenEgress,
  tokenRun,
  connections,
  exchanges,
  calls,
  usage,
  explain,
  learn,
  keysList,
  keysRotate,
  keysImport,
  keysRevoke,
  keysRotateMaster,
  keysExportClass,
  adminKeyAdd,
  adminKeyList,
  adminKeyRemove,
  adminEvents,
  migrate,
  config,
  doctor,
];
