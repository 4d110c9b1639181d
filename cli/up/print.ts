/** What `sallyport up` prints when all is ready: addresses, places, and commands that work as printed. No secret. */
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readConfig } from '../../core-lite/config.ts';
import { formatAddress } from '../../core-lite/service.ts';
import { ECHO_MODEL } from '../../core-lite/state/model.ts';
import { VERSION } from '../../core-lite/version.ts';
import { type Addresses, type Listener, reachable } from './addresses.ts';
import type { Demo } from './demo.ts';
import { DEMO_ENVIRONMENT } from './demo-environment.ts';
import { DEMO_VARIABLE } from './demo-vault.ts';
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
  const at = (name: Listener) => formatAddress(reachable(addresses[name]));
  return [
    `Sallyport ${VERSION} is ready after ${seconds.toFixed(1)} s.`,
    `- egress, the proxy   ${at('egress')}, in TLS ${at('egressTls')}, health and metrics ${at('egressObserve')}`,
    `- gates: models, tools ${at('gates')}, health and metrics ${at('gatesObserve')}`,
    `- core, the admin API ${at('core')}, health and metrics ${at('coreObserve')}`,
    `- keys                ${files.home}: master.key (keep a copy of it), admin.key`,
    `- logs                ${dirname(files.coreLog)}: core.log, egress.log, gates.log`,
    'In another shell:',
    ...commandPlace(files.home),
    ...(demo ? demoCommands(demo, files.demo) : ['  npx sallyport --help']),
    'Ctrl-C here stops everything.',
  ];
}

function demoCommands({ origin, api }: Demo, folder: string): readonly string[] {
  const run = `npx sallyport run --env ${DEMO_ENVIRONMENT} --`;
  const proxy = `npx sallyport token egress --env ${DEMO_ENVIRONMENT} --proxy-url`;
  const explain = `npx sallyport explain --env ${DEMO_ENVIRONMENT}`;
  const whoami = `curl -sS -H "Authorization: Bearer $${DEMO_VARIABLE}" https://${api}/whoami`;
  return [
    'A secret that the command never sees, and that the origin gets:',
    `  ${run} sh -c 'echo "$${DEMO_VARIABLE}"; ${whoami}'`,
    'A model, called with no key; this one is built in and echoes:',
    `  ${run} sh -c '${ECHO_CALL}'`,
    'A host that nobody allowed; the headers say why and what to do:',
    `  ${run} curl -sS -o /dev/null -D - https://example.com/`,
    'Other programs as they are, through a tunnel that nobody reads:',
    `  ${run} git ls-remote https://${origin}/demo.git`,
    'The proxy by itself, with a token of 15 minutes:',
    `  curl -sS --cacert ${quote(join(folder, 'ca.pem'))} -x "$(${proxy})" https://${origin}/`,
    'What each of them left, and what would become of others:',
    '  npx sallyport connections',
    '  npx sallyport exchanges',
    '  npx sallyport usage --by model',
    `  ${explain} example.com`,
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
const ECHO_BODY = JSON.stringify({ model: ECHO_MODEL.name, messages: [{ role: 'user', content: 'hello' }] });
/** Stands between single quotes. */
const ECHO_CALL = [
  'curl -sS "$OPENAI_BASE_URL/chat/completions" -H "Authorization: Bearer $OPENAI_API_KEY"',
  `-H "Content-Type: application/json" -d "${ECHO_BODY.replaceAll('"', '\\"')}"; echo`,
].join(' ');
