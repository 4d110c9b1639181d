/** Whether an HTTP tool may be called where its session declares it: a URL that is called, a credential that may go there. */
import { Allow, Deny } from '../../core-lite/decision.ts';
import { isWebPort, matchesBinding, matchesHost } from '../../core-lite/network/host-pattern.ts';
import type { OpenNetwork } from '../../core-lite/network/open-network.ts';
import type { UpstreamUrl } from '../../core-lite/network/upstream-url.ts';
import type { HttpTool } from '../../core-lite/state/manifest/http-tool.ts';
import type { GateCredential } from '../../core-lite/vault/gate-credentials.ts';
import type { HttpOutcome } from '../http-outcomes.ts';
import type { ApprovalReason } from '../reasons.ts';

export interface HttpCallFacts {
  readonly tool: Pick<HttpTool, 'credential'>;
  /** `null` where the tool's URL is not one that is called. */
  readonly url: UpstreamUrl | null;
  /** The tool's credential; `null` where it names none, or one that is not there. */
  readonly credential: Pick<GateCredential, 'kind' | 'hosts' | 'user'> | null;
  /** The session's user. */
  readonly user: string | null;
  readonly openNetworks: readonly OpenNetwork[];
}

export type HttpCallDecision = Allow<ApprovalReason> | Deny<HttpOutcome>;

export function decideHttpCall({
  tool,
  url,
  credential,
  user,
  openNetworks,
}: HttpCallFacts): HttpCallDecision {
  if (!url) return new Deny('http.refused');
  const { host, port } = url.target;
  if (tool.credential !== null) {
    if (!credential || !TOOL_KINDS.has(credential.kind)) return new Deny('http.credential');
    if (credential.user !== null && credential.user !== user) return new Deny('http.credential');
    if (!credential.hosts.some((pattern) => matchesBinding(pattern, host, port)))
      return new Deny('http.credential');
  }
  const named = (pattern: { readonly port: number | null }): boolean => pattern.port === port;
  // Another port is reached only where whoever gave the credential, or opened the network, named it.
  const credited = credential?.hosts.some((pattern) => named(pattern) && matchesHost(pattern, host)) ?? false;
  const opened = openNetworks.some(({ pattern }) => named(pattern) && matchesHost(pattern, host));
  return isWebPort(port) || credited || opened ? new Allow('declared') : new Deny('http.refused');
}

const TOOL_KINDS: ReadonlySet<string> = new Set(['bearer', 'headers']);
