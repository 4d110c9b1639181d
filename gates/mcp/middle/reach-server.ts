/** Where a declared server's requests go and with what, found anew for each: a rotation holds from the next one on. */
import { Allow } from '../../../core-lite/decision.ts';
import { parseUpstreamUrl, UpstreamUrl } from '../../../core-lite/network/upstream-url.ts';
import type { McpServer } from '../../../core-lite/state/manifest/mcp-server.ts';
import type { GateCredential } from '../../../core-lite/vault/gate-credentials.ts';
import type { Gate } from '../../gate.ts';
import { decideReach } from '../decide/reach.ts';
import { type Failed, fail } from '../upstream/failures.ts';
import type { Reach } from '../upstream/server.ts';

/**
 * Rejects with a Fault where a credential cannot be read.
 * @param user the session's
 */
export async function reachServer(
  { credentials, openNetworks }: Pick<Gate, 'credentials' | 'openNetworks'>,
  declared: Pick<McpServer, 'url' | 'via' | 'credential'>,
  user: string | null,
): Promise<Reach | Failed> {
  const parsed = parseUpstreamUrl((declared.via ?? declared).url);
  const url = parsed instanceof UpstreamUrl ? parsed : null;
  const names = credentialsOf(declared);
  const found = await Promise.all(names.map((name) => credentials.read(name)));
  const decision = decideReach({ url, credentials: found, user, openNetworks });
  if (!(decision instanceof Allow)) {
    return fail(decision.reason, false, decision.reason === 'credential' ? names.join(' or ') : null);
  }
  if (!url) return fail('refused', false);
  return { proof: decision, url, credentials: names.flatMap((name, i) => pair(name, found[i])) };
}

/** By `vault/name`. */
function credentialsOf({ via, credential }: Pick<McpServer, 'via' | 'credential'>): readonly string[] {
  return [credential, via?.credential ?? null].flatMap((name) => name ?? []);
}

function pair(name: string, credential: GateCredential | null | undefined) {
  return credential ? [{ name, credential }] : [];
}
