/** What `sallyport up` prints when all is ready: addresses, places, and commands that work as printed. No secret. */
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readConfig } from '../../core-lite/config.ts';
import { formatAddress } from '../../core-lite/service.ts';
import { VERSION } from '../../core-lite/version.ts';
import { type Addresses, reachable } from './addresses.ts';
import type { Demo } from './demo.ts';
import { DEMO_ENVIRONMENT } from './demo-environment.ts';
import type { HomeFiles } from './home.ts';

export interface Ready {
  readonly files: HomeFiles;
  readonly addresses: Addresses;
  readonly demo: Demo | null;
  /** How long the start took. */
  readonly seconds: number;
}

/** The lines; commands, and nothing else, are indented by two blanks and begin with no other sign. */
export function describeReady({ files, addresses, demo, seconds }: Ready): readonly string[] {
  const at = (name: 'core' | 'coreObserve' | 'egress' | 'egressObserve') =>
    formatAddress(reachable(addresses[name]));
  return [
    `Sallyport ${VERSION} is ready after ${seconds.toFixed(1)} s.`,
    `- egress, the proxy   ${at('egress')}, health and metrics ${at('egressObserve')}`,
    `- core, the admin API ${at('core')}, health and metrics ${at('coreObserve')}`,
    `- keys                ${files.home}: master.key (keep a copy of it), admin.key`,
    `- logs                ${dirname(files.coreLog)}: core.log, egress.log`,
    'In another shell:',
    ...commandPlace(files.home),
    ...(demo ? demoCommands(demo) : ['  npx sallyport --help']),
    'Ctrl-C here stops everything.',
  ];
}

function demoCommands({ origin, caFile }: Demo): readonly string[] {
  return [
    `  export HTTPS_PROXY="$(npx sallyport token egress --env ${DEMO_ENVIRONMENT} --proxy-url)"`,
    // curl and git look at this spelling first: it may be set to another proxy.
    '  export https_proxy="$HTTPS_PROXY"',
    'Allowed, through a tunnel; the name is resolved by the proxy, and only there:',
    `  curl --cacert ${quote(caFile)} https://${origin}/`,
    `  GIT_SSL_CAINFO=${quote(caFile)} git ls-remote https://${origin}/demo.git`,
    'Denied, and the headers say why and what to do:',
    '  curl -sS -o /dev/null -D - https://example.com/',
    'What happened, and what would:',
    '  npx sallyport connections',
    `  npx sallyport explain --env ${DEMO_ENVIRONMENT} ${origin}`,
    `  npx sallyport explain --env ${DEMO_ENVIRONMENT} example.com`,
  ];
}

/** `npx sallyport` works inside the clone, and finds another home than the clone's own by the setting alone. */
function commandPlace(home: string): readonly string[] {
  const away = readConfig({}).home !== home;
  return [`  cd ${quote(CLONE)}`, ...(away ? [`  export SALLYPORT_HOME=${quote(home)}`] : [])];
}

/** As one word of a POSIX shell. */
function quote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

const CLONE = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');
