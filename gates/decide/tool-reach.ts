/** Whether what a session's manifest declares may be called where it is: the one rule of HTTP tools and MCP servers. */
import { isWebPort, matchesBinding, matchesHost } from '../../core-lite/network/host-pattern.ts';
import type { OpenNetwork } from '../../core-lite/network/open-network.ts';
import type { UpstreamUrl } from '../../core-lite/network/upstream-url.ts';
import type { GateCredential } from '../../core-lite/vault/gate-credentials.ts';

export interface ToolReachFacts {
  /** `null` where it is not one that is called. */
  readonly url: UpstreamUrl | null;
  /** Those that the manifest names for it, each `null` where it is not there. All of them go to `url`. */
  readonly credentials: readonly (Pick<GateCredential, 'kind' | 'hosts' | 'user'> | null)[];
  /** The session's user. */
  readonly user: string | null;
  readonly openNetworks: readonly OpenNetwork[];
}

/** @returns what keeps it from being called; `null` for nothing */
export function findObstacle(facts: ToolReachFacts): 'refused' | 'credential' | null {
  const { url, credentials, user, openNetworks } = facts;
  if (!url) return 'refused';
  const { host, port } = url.target;
  for (const credential of credentials) {
    if (!credential || !KINDS.has(credential.kind)) return 'credential';
    if (credential.user !== null && credential.user !== user) return 'credential';
    if (!credential.hosts.some((pattern) => matchesBinding(pattern, host, port))) return 'credential';
  }
  const named = (pattern: { readonly port: number | null }): boolean => pattern.port === port;
  // Another port is reached only where whoever gave a credential, or opened the network, named it.
  const hosts = credentials.flatMap((credential) => credential?.hosts ?? []);
  const credited = hosts.some((pattern) => named(pattern) && matchesHost(pattern, host));
  const opened = openNetworks.some(({ pattern }) => named(pattern) && matchesHost(pattern, host));
  return isWebPort(port) || credited || opened ? null : 'refused';
}

const KINDS: ReadonlySet<string> = new Set(['bearer', 'headers']);
