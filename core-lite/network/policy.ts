/** What an environment may reach: the policy as decisions read it, parsed once. */
import { Fault } from '../errors.ts';
import type { Placement } from '../vault/placement.ts';
import type { RequestRules } from '../vault/request-rules.ts';
import { formatHostPattern, type HostPattern, matchesBinding, parseHostPattern } from './host-pattern.ts';
import type { Target } from './target.ts';

export interface NetworkPolicy {
  /** `report`: what the allowlist would deny is let through and recorded as `reported`. */
  readonly mode: 'enforce' | 'report';
  readonly allow: readonly HostPattern[];
  /** Open connections at most, on one replica. */
  readonly maxConnections: number;
  /** New connections a second at most, on one replica. */
  readonly newPerSecond: number;
}

/** An environment secret as far as decisions need it: the hosts that it is bound to, its place and its rules. */
export interface Binding {
  readonly credentialId: string;
  readonly version: number;
  readonly hosts: readonly HostPattern[];
  readonly placement: Placement;
  readonly rules: RequestRules;
}

/** Those that are bound to the target. */
export function bindingsOf<Bound extends Pick<Binding, 'hosts'>>(
  bindings: readonly Bound[],
  { host, port }: Target,
): Bound[] {
  return bindings.filter(({ hosts }) => hosts.some((pattern) => matchesBinding(pattern, host, port)));
}

/** Throws Fault `input_invalid` that says what is wrong with which entry, and the right spelling where there is one. */
export function parseHostPatterns(texts: readonly string[]): HostPattern[] {
  return texts.map((text) => {
    const pattern = parseHostPattern(text);
    if (!('message' in pattern)) return pattern;
    const offer = pattern.suggestion ? `; did you mean ${pattern.suggestion}?` : '';
    throw new Fault('input_invalid', `"${text}": ${pattern.message}${offer}`);
  });
}

/** The one spelling of each pattern, without repeats, in the order given. */
export function formatHostPatterns(patterns: readonly HostPattern[]): string[] {
  return [...new Set(patterns.map(formatHostPattern))];
}
