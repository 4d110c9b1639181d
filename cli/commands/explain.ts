/**
 * `explain`: would this connection be let through, and why? It runs egress's own decisions over the environment's
 * facts; it opens nothing and records nothing. A name is looked up only where the first decision allows it, as at
 * egress: a look-up carries the name out.
 */
import type { Config } from '../../core-lite/config.ts';
import { classifyAddress } from '../../core-lite/network/address-class.ts';
import { decideAddresses } from '../../core-lite/network/decide-address.ts';
import { isInsideName } from '../../core-lite/network/host-name.ts';
import { matchesBinding } from '../../core-lite/network/host-pattern.ts';
import { openResolver } from '../../core-lite/network/open-resolver.ts';
import { formatParentProxy } from '../../core-lite/network/parent-proxy.ts';
import { type Binding, parseHostPatterns } from '../../core-lite/network/policy.ts';
import { ResolveFailure } from '../../core-lite/network/resolve.ts';
import { formatTarget, parseTarget, type Target } from '../../core-lite/network/target.ts';
import { APPROVALS, type ApprovalReason, REFUSALS, type RefusalReason } from '../../core-lite/reasons.ts';
import { traceConnect } from '../../egress/decide/connect.ts';
import { type Api, openApi, path } from '../api.ts';
import { defineCommand, type Io, wrong } from '../command.ts';
import { EXIT } from '../command-error.ts';
import { readEgressConfig } from '../home.ts';
import { formatTable } from '../table.ts';
import { type CredentialAnswer, describeUse } from './credential.ts';
import type { EnvironmentAnswer } from './env.ts';

/** What `--json` prints. */
interface Explanation {
  /** As typed, with its port. */
  readonly target: string;
  readonly environment: string;
  readonly rules: readonly { readonly rule: string; readonly outcome: string; readonly saw: string }[];
  /** Those that are put on requests there. */
  readonly secrets: readonly Omit<NamedSecret, 'hosts'>[];
  /** The proxy that would look the name up, and whose addresses nobody here can judge; `null` where egress dials. */
  readonly parent: string | null;
  /** Empty where no name was looked up. */
  readonly addresses: readonly {
    readonly address: string;
    readonly class: string;
    readonly dialled: boolean;
  }[];
  readonly verdict: 'allowed' | 'denied' | 'reported';
  readonly reason: ApprovalReason | RefusalReason;
  readonly text: string;
  readonly remedy: string | null;
}

export const explain = defineCommand({
  name: 'explain',
  summary: 'says whether a host may be reached from an environment, and which rule says so',
  args: ['HOST[:PORT]'],
  options: {
    env: { type: 'string', value: 'NAME', help: 'the environment; required' },
    'no-resolve': { type: 'boolean', help: 'looks up no name: leaves the addresses out' },
    json: { type: 'boolean', help: 'prints JSON' },
  },
  notes: [
    'The port is 443 if none is given. The limits are judged as if nothing were open. A host that is allowed is looked up with the settings of this process (SALLYPORT_DNS_SERVERS, SALLYPORT_HOSTS_FILE, SALLYPORT_OPEN_NETWORKS, SALLYPORT_NAT64_PREFIXES): run it with those of egress. Beside a running `npm start` it has them by itself.',
    'Exit status: 0 it would be let through (also where it is only reported), 1 it would be refused, or no answer could be given, which then stands on standard error.',
  ],
  examples: [
    'npx sallyport explain --env demo api.example.com',
    'npx sallyport explain --env demo a.test:22',
  ],
  run: async ({ args: [text], options }, io) => {
    if (!options.env) throw wrong(explain, 'explain needs --env');
    const written = /:\d+$/.test(text) ? text : `${text}:443`;
    const explanation = await explainTarget(written, options.env, options['no-resolve'] !== true, io);
    if (options.json) io.out(JSON.stringify(explanation, null, 2));
    else showExplanation(explanation, io);
    return explanation.verdict === 'denied' ? EXIT.failed : EXIT.done;
  },
});

async function explainTarget(written: string, name: string, resolve: boolean, io: Io): Promise<Explanation> {
  const api = await openApi(io);
  const environment = await api.call<EnvironmentAnswer>('GET', path`/v1/environments/${name}`);
  const base = { target: written, environment: name, rules: [], secrets: [], parent: null, addresses: [] };
  const target = parseTarget(written);
  if (!target) return { ...base, ...denied('target_malformed') };
  const secrets = await readSecrets(api, environment.credentials);
  const { decision, rules } = traceConnect({
    target,
    network: { ...environment, allow: parseHostPatterns(environment.allow) },
    bindings: secrets,
    open: 0,
    recent: 0,
  });
  const shown = rules.map(({ rule, decision: outcome, why }) => ({
    rule,
    outcome: outcome?.verdict ?? 'passed',
    saw: why,
  }));
  const bound = secrets
    .filter(({ hosts }) => hosts.some((host) => matchesBinding(host, target.host, target.port)))
    .map(({ credential, use }) => ({ credential, use }));
  const judged = { ...base, target: formatTarget(target), rules: shown, secrets: bound };
  const { verdict, reason } = decision;
  if (verdict === 'denied') return { ...judged, ...denied(reason) };
  const approved = { ...judged, verdict, reason, text: APPROVALS[reason], remedy: null };
  return resolve ? { ...approved, ...(await explainAddresses(target, io)) } : approved;
}

/** The environment's secrets with their hosts; plain variables are bound to none. */
async function readSecrets(api: Api, names: readonly string[]): Promise<readonly NamedSecret[]> {
  if (names.length === 0) return [];
  const credentials = await api.call<readonly CredentialAnswer[]>('GET', '/v1/credentials');
  return credentials
    .filter(
      ({ kind, settings }) => kind === 'environment_secret' || (kind === 'oauth' && 'variable' in settings),
    )
    .filter(({ vault, name }) => names.includes(`${vault}/${name}`))
    .map((credential) => ({
      hosts: parseHostPatterns(credential.hosts),
      credential: `${credential.vault}/${credential.name}`,
      use: describeUse(credential),
    }));
}

interface NamedSecret extends Pick<Binding, 'hosts'> {
  readonly credential: string;
  /** How and on which requests it is put. */
  readonly use: readonly string[];
}

/** The second decision: the addresses, and a refusal where none of them may be dialled. */
async function explainAddresses(target: Target, io: Io): Promise<Partial<Explanation>> {
  const config = await readEgressConfig(io.variables);
  if (config.parentProxy) {
    const parent = formatParentProxy(config.parentProxy);
    return { parent, ...(isInsideName(target.host) ? denied('address_refused') : {}) };
  }
  const addresses = await lookUp(target, config, io.signal);
  if (!addresses) return denied('resolve_failed');
  const { openNetworks, nat64Prefixes } = config;
  const { allowed } = decideAddresses({ target, addresses, openNetworks, nat64Prefixes });
  const shown = addresses.map((address) => ({
    address: address.text,
    class: classifyAddress(address, nat64Prefixes),
    dialled: allowed.includes(address),
  }));
  return { addresses: shown, ...(allowed.length === 0 ? denied('address_refused') : {}) };
}

async function lookUp(target: Target, config: Config, signal: AbortSignal) {
  const resolver = await openResolver(config);
  try {
    return await resolver.resolve(target.host, signal);
  } catch (error) {
    if (error instanceof ResolveFailure) return null;
    throw error;
  } finally {
    resolver.close();
  }
}

function denied(reason: RefusalReason) {
  const { text, remedy } = REFUSALS[reason];
  return { verdict: 'denied', reason, text, remedy } as const;
}

function showExplanation(explanation: Explanation, io: Io): void {
  const { target, environment, rules, secrets, parent, addresses, verdict, reason, text, remedy } =
    explanation;
  io.out(`${target} from ${environment}`);
  const ruleRows = rules.map(({ rule, outcome, saw }) => [`  ${rule}`, outcome, saw]);
  for (const line of formatTable(ruleRows)) io.out(line);
  for (const line of formatTable(secrets.map(({ credential, use }) => [`  ${credential}`, use.join('; ')])))
    io.out(line);
  if (parent) io.out(`  ${parent} looks the name up: its addresses are not judged`);
  const addressRows = addresses.map((each) => {
    const opened = each.class !== 'public' && each.dialled;
    return [
      `  ${each.address}`,
      each.class,
      each.dialled ? `dialled${opened ? ', opened for it' : ''}` : 'refused',
    ];
  });
  for (const line of formatTable(addressRows)) io.out(line);
  io.out(`${verdict}: ${reason}: ${text}${remedy ? `; ${remedy}` : ''}`);
}
