/** A check of `doctor`: whether the files and variables that credentials have their values from can be read here. */
import { randomBytes } from 'node:crypto';
import { CODES } from '../core-lite/codes.ts';
import { openOperatorValues } from '../core-lite/vault/operator-values.ts';
import { readValueSource } from '../core-lite/vault/value-source.ts';
import { openApi } from './api.ts';
import { type Patient, Skipped } from './checks.ts';
import { CommandError } from './command-error.ts';
import type { CredentialAnswer } from './commands/credential.ts';

/** This process reads what egress reads only where it has the same settings: without any it looks at nothing. */
export async function checkSecretSources({ config, io }: Patient): Promise<string | Skipped> {
  if (config.secretFolder === undefined && config.secretVariables.length === 0)
    return new Skipped('SALLYPORT_SECRET_FOLDER and SALLYPORT_SECRET_VARIABLES are not set');
  const values = await openOperatorValues(config, io.variables, randomBytes(32));
  const api = await openApi(io).catch(() => null);
  const credentials = await api
    ?.call<readonly CredentialAnswer[]>('GET', '/v1/credentials')
    .catch(() => null);
  if (!credentials) return new Skipped('core does not list the credentials');
  const bad: string[] = [];
  let read = 0;
  for (const { vault, name, settings } of credentials) {
    const { valueFrom } = settings as { readonly valueFrom?: string };
    const source = valueFrom === undefined ? null : readValueSource(valueFrom);
    if (!source) continue;
    read += 1;
    const found = await values.read(source);
    if (typeof found === 'string')
      bad.push(`${vault}/${name} (${valueFrom}: ${CODES[found]?.text ?? found})`);
  }
  if (bad.length === 0) return `${read} values can be read`;
  throw new CommandError(
    `no value for ${bad.slice(0, 5).join(', ')}`,
    'mend the file or variable, or its credential',
  );
}
