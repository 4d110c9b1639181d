/**
 * Whether a connection may be opened: the rules, in order. The first that speaks decides; rules that deny stand before
 * rules that allow, so a deny outranks every allow, and when none speaks it is a deny. Pure: every fact is an argument.
 *
 * Why this order: the rate comes first, because a row is written for whatever is judged after it, and nobody may flood
 * the record. Then what no policy can change (`literal`), what a change of policy would mend (`port`, `host`, `bound`),
 * and last what waiting mends: clients retry a 429 by themselves, and should not be told to retry what is refused for
 * good. `port` stands before `host` because its remedy, an entry `host:port`, mends both at once; the remedy of `host`
 * would only lead to the next refusal.
 */
import { Allow, type Decision, Deny } from '../../core-lite/decision.ts';
import {
  type HostPattern,
  isWebPort,
  matchesBinding,
  matchesHost,
  matchesTarget,
} from '../../core-lite/network/host-pattern.ts';
import type { Binding, NetworkPolicy } from '../../core-lite/network/policy.ts';
import { formatTarget, type Target } from '../../core-lite/network/target.ts';

/** What a connection is judged by, apart from the limits. */
export interface StandingFacts {
  readonly target: Target;
  readonly network: NetworkPolicy;
  /** The environment's secrets that are put on requests, each with the hosts it is bound to. */
  readonly bindings: readonly Pick<Binding, 'hosts'>[];
}

export interface ConnectFacts extends StandingFacts {
  /** Open connections of the environment, this one not counted. */
  readonly open: number;
  /** Connections that the environment opened in the running second, this one not counted. */
  readonly recent: number;
}

export type ConnectionMode = 'tunnel' | 'interception';

/** What one rule made of the facts. */
export interface RuleOutcome {
  readonly rule: string;
  /** Null when the rule had nothing to say and the next was asked. */
  readonly decision: Decision | null;
  /** What the rule saw, one line without a full stop. */
  readonly why: string;
}

export function decideConnect(facts: ConnectFacts): Decision {
  return decideBy(RULES, facts);
}

/** The same decision with every rule that was asked, in order, for whoever wants to know why. */
export function traceConnect(facts: ConnectFacts): {
  readonly decision: Decision;
  readonly rules: readonly RuleOutcome[];
} {
  const rules: RuleOutcome[] = [];
  for (const rule of RULES) {
    const decision = rule.judge(facts);
    rules.push({ rule: rule.name, decision, why: rule.explain(facts, decision) });
    if (decision !== null) return { decision, rules };
  }
  return { decision: SILENCE, rules };
}

/**
 * The decision on a connection that is open already, when its policy may have changed. Limits are about opening: they
 * close nothing that is open.
 */
export function decideStanding(facts: StandingFacts): Decision {
  return decideBy(STANDING_RULES, facts);
}

/** A request in plaintext: what a CONNECT to the same target would get, but nothing where a secret is bound. */
export function decidePlain(facts: ConnectFacts): Decision {
  const decision = decideConnect(facts);
  return decision instanceof Allow && isBound(facts) ? new Deny('tls_required') : decision;
}

/** What is done with a connection that was allowed: only bound hosts are intercepted, everything else is a tunnel. */
export function decideMode(facts: StandingFacts): ConnectionMode {
  return isBound(facts) ? 'interception' : 'tunnel';
}

function decideBy<Facts>(rules: readonly Rule<Facts>[], facts: Facts): Decision {
  for (const rule of rules) {
    const decision = rule.judge(facts);
    if (decision !== null) return decision;
  }
  return SILENCE;
}

interface Rule<Facts> {
  readonly name: string;
  judge(facts: Facts): Decision | null;
  explain(facts: Facts, decision: Decision | null): string;
}

function isListed({ target, network }: StandingFacts): boolean {
  return network.allow.some((pattern) => matchesTarget(pattern, target.host, target.port));
}

/** The entries for the host of the target, whatever their port. */
function entriesForHost({ target, network }: StandingFacts): readonly HostPattern[] {
  return network.allow.filter((pattern) => matchesHost(pattern, target.host));
}

function isBound({ target, bindings }: StandingFacts): boolean {
  return bindings.some(({ hosts }) => hosts.some((host) => matchesBinding(host, target.host, target.port)));
}

/** No policy opens an IP address, in no mode: a name can be judged and recorded, a number hides who is meant. */
const LITERAL: Rule<StandingFacts> = {
  name: 'literal',
  judge: ({ target }) => (target.literal ? new Deny('ip_literal') : null),
  explain: ({ target }, denied) =>
    denied ? `${target.host} is an IP address, or reads like one` : `${target.host} is a name`,
};

/** Ports hold in report mode too: it is meant to find out which hosts are used, not to open SMTP. */
const PORT: Rule<StandingFacts> = {
  name: 'port',
  judge: (facts) => (isWebPort(facts.target.port) || isListed(facts) ? null : new Deny('port_denied')),
  explain: ({ target }, denied) => {
    if (denied)
      return `${target.port} is neither 443 nor 80, and no entry of the allowlist opens ${formatTarget(target)}`;
    return isWebPort(target.port)
      ? `${target.port} is open for every host`
      : `the allowlist opens ${formatTarget(target)}`;
  },
};

/** A host whose entries all name other ports is not unknown: its port is what is closed. */
const HOST: Rule<StandingFacts> = {
  name: 'host',
  judge: (facts) => {
    if (facts.network.mode === 'report' || isListed(facts)) return null;
    return new Deny(entriesForHost(facts).length > 0 ? 'port_denied' : 'host_denied');
  },
  explain: (facts, denied) => {
    if (denied?.reason === 'port_denied')
      return `the allowlist opens ${facts.target.host} at other ports only`;
    if (denied) return `no entry of the allowlist covers ${facts.target.host}`;
    return facts.network.mode === 'report'
      ? 'the environment only reports'
      : `the allowlist covers ${facts.target.host}`;
  },
};

/** Decides nothing: it stands among the rules so that whoever asks why sees what will be done. */
const BOUND: Rule<StandingFacts> = {
  name: 'bound',
  judge: () => null,
  explain: (facts) =>
    isBound(facts)
      ? `a secret is bound to ${formatTarget(facts.target)}: its TLS is terminated`
      : `no secret is bound to ${formatTarget(facts.target)}: its bytes pass unread`,
};

// Written as "not below", so that a limit that is not a number refuses instead of letting everything through.
const CONNECTION_LIMIT: Rule<ConnectFacts> = {
  name: 'connection_limit',
  judge: ({ open, network }) => (open < network.maxConnections ? null : new Deny('connection_limit')),
  explain: ({ open, network }) => `${open} open, ${network.maxConnections} may be`,
};

const RATE_LIMIT: Rule<ConnectFacts> = {
  name: 'rate_limit',
  judge: ({ recent, network }) => (recent < network.newPerSecond ? null : new Deny('rate_limited')),
  explain: ({ recent, network }) => `${recent} opened in this second, ${network.newPerSecond} may be`,
};

const LISTED: Rule<StandingFacts> = {
  name: 'listed',
  judge: (facts) => (isListed(facts) ? new Allow('allowlisted') : null),
  explain: ({ target }, allowed) => `${formatTarget(target)} is ${allowed ? '' : 'not '}on the allowlist`,
};

const REPORT: Rule<StandingFacts> = {
  name: 'report',
  judge: ({ network }) => (network.mode === 'report' ? new Allow('reported') : null),
  explain: ({ network }) => `the mode of the environment is ${network.mode}`,
};

const DENIALS: readonly Rule<StandingFacts>[] = [LITERAL, PORT, HOST, BOUND];
const APPROVALS: readonly Rule<StandingFacts>[] = [LISTED, REPORT];

const RULES: readonly Rule<ConnectFacts>[] = [RATE_LIMIT, ...DENIALS, CONNECTION_LIMIT, ...APPROVALS];
const STANDING_RULES: readonly Rule<StandingFacts>[] = [...DENIALS, ...APPROVALS];
/** Reached by no facts today; it is what keeps a rule that is dropped by mistake from opening anything. */
const SILENCE = new Deny('host_denied');
