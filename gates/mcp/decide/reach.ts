/** Whether an MCP server may be asked where its session declares it: a URL that is called, credentials that may go there. */
import { Allow, Deny } from '../../../core-lite/decision.ts';
import { isWebPort, matchesBinding, matchesHost } from '../../../core-lite/network/host-pattern.ts';
import type { OpenNetwork } from '../../../core-lite/network/open-network.ts';
import type { UpstreamUrl } from '../../../core-lite/network/upstream-url.ts';
import type { GateCredential } from '../../../core-lite/vault/gate-credentials.ts';
import type { ApprovalReason } from '../../reasons.ts';
import type { UpstreamFailure } from '../upstream/failures.ts';

export interface ReachFacts {
  /** Where its requests go: its own, or that of its `via`. `null` where it is not one that is called. */
  readonly url: UpstreamUrl | null;
  /** Those that the manifest names for it, each `null` where it is not there. All of them go to `url`. */
  readonly credentials: readonly (Pick<GateCredential, 'kind' | 'hosts' | 'user'> | null)[];
  /** The session's user. */
  readonly user: string | null;
  readonly openNetworks: readonly OpenNetwork[];
}

export type ReachDecision = Allow<ApprovalReason> | Deny<Extract<UpstreamFailure, 'refused' | 'credential'>>;

export function decideReach({ url, credentials, user, openNetworks }: ReachFacts): ReachDecision {
  if (!url) return new Deny('refused');
  const { host, port } = url.target;
  for (const credential of credentials) {
    if (!credential || !SERVER_KINDS.has(credential.kind)) return new Deny('credential');
    if (credential.user !== null && credential.user !== user) return new Deny('credential');
    if (!credential.hosts.some((pattern) => matchesBinding(pattern, host, port))) {
      return new Deny('credential');
    }
  }
  const named = (pattern: { readonly port: number | null }): boolean => pattern.port === port;
  // Another port is reached only where whoever gave a credential, or opened the network, named it.
  const hosts = credentials.flatMap((credential) => credential?.hosts ?? []);
  const credited = hosts.some((pattern) => named(pattern) && matchesHost(pattern, host));
  const opened = openNetworks.some(({ pattern }) => named(pattern) && matchesHost(pattern, host));
  return isWebPort(port) || credited || opened ? new Allow('declared') : new Deny('refused');
}

const SERVER_KINDS: ReadonlySet<string> = new Set(['bearer', 'headers']);
