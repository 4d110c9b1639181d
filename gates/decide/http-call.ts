/** Whether an HTTP tool may be called where its session declares it: a URL that is called, a credential that may go there. */
import { Allow, Deny } from '../../core-lite/decision.ts';
import type { OpenNetwork } from '../../core-lite/network/open-network.ts';
import type { UpstreamUrl } from '../../core-lite/network/upstream-url.ts';
import type { HttpTool } from '../../core-lite/state/manifest/http-tool.ts';
import type { GateCredential } from '../../core-lite/vault/gate-credentials.ts';
import type { HttpOutcome } from '../http-outcomes.ts';
import type { ApprovalReason } from '../reasons.ts';
import { findObstacle } from './tool-reach.ts';

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

export function decideHttpCall({ tool, credential, ...facts }: HttpCallFacts): HttpCallDecision {
  const obstacle = findObstacle({ ...facts, credentials: tool.credential === null ? [] : [credential] });
  return obstacle === null ? new Allow('declared') : new Deny(`http.${obstacle}`);
}
