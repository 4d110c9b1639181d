/** Whether a run may call a model: declared for its session, in a dialect it speaks, with a credential that may go there. */
import { Allow, Deny } from '../../core-lite/decision.ts';
import { matchesBinding } from '../../core-lite/network/host-pattern.ts';
import type { UpstreamUrl } from '../../core-lite/network/upstream-url.ts';
import { findService } from '../../core-lite/providers/catalogue.ts';
import type { Dialect } from '../../core-lite/state/dialect.ts';
import type { ModelFacts } from '../../core-lite/state/model.ts';
import type { SessionFacts } from '../../core-lite/state/session.ts';
import type { GateCredential } from '../../core-lite/vault/gate-credentials.ts';
import type { ApprovalReason, RefusalReason } from '../reasons.ts';

export interface ModelCallFacts {
  /** What was asked for. */
  readonly name: string;
  readonly dialect: Dialect;
  readonly session: Pick<SessionFacts, 'user' | 'manifest'>;
  /** `null` where the catalogue has no such model. */
  readonly model: ModelFacts | null;
  /** Where the model is; `null` where its base URL is not one that is called. */
  readonly url: UpstreamUrl | null;
  /** The model's credential; `null` where it names none, or one that is gone. */
  readonly credential: Pick<GateCredential, 'kind' | 'hosts' | 'user'> | null;
}

export type CallDecision = Allow<ApprovalReason> | Deny<RefusalReason>;

export function decideModelCall(facts: ModelCallFacts): CallDecision {
  const { name, dialect, session, model, url, credential } = facts;
  const { models } = session.manifest;
  if (models !== null && !models.includes(name)) return new Deny('model_undeclared');
  if (!model) return new Deny('model_unknown');
  if (!model.dialects.includes(dialect)) return new Deny('dialect_unserved');
  if (model.baseUrl === null) return new Allow('built_in');
  // Written by a newer program, or by hand: how it is called is not known here.
  if (!findService(model.provider, dialect)) return new Deny('dialect_unserved');
  if (!url) return new Deny('url_refused');
  if (model.credentialId !== null) {
    if (!credential || !MODEL_KINDS.has(credential.kind)) return new Deny('credential_missing');
    if (credential.user !== null && credential.user !== session.user) return new Deny('credential_user');
    const { host, port } = url.target;
    if (!credential.hosts.some((pattern) => matchesBinding(pattern, host, port)))
      return new Deny('credential_host');
  }
  return new Allow('declared');
}

const MODEL_KINDS: ReadonlySet<string> = new Set(['model_key', 'bearer', 'headers']);
