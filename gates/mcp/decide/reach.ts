/** Whether an MCP server may be asked where its session declares it, or where its `via` sends it. */
import { Allow, Deny } from '../../../core-lite/decision.ts';
import { findObstacle, type ToolReachFacts } from '../../decide/tool-reach.ts';
import type { ApprovalReason } from '../../reasons.ts';
import type { UpstreamFailure } from '../upstream/failures.ts';

export type ReachDecision = Allow<ApprovalReason> | Deny<Extract<UpstreamFailure, 'refused' | 'credential'>>;

export function decideReach(facts: ToolReachFacts): ReachDecision {
  const obstacle = findObstacle(facts);
  return obstacle === null ? new Allow('declared') : new Deny(obstacle);
}
