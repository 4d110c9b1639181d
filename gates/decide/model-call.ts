/**
 * Whether a run may call a model: declared for its session, in a dialect it speaks, with a credential that may go there.
 * The model that was asked for decides; its fallbacks are each decided likewise, and one that may not be called is left
 * out.
 */
import { Allow, Deny } from '../../core-lite/decision.ts';
import { matchesBinding } from '../../core-lite/network/host-pattern.ts';
import type { UpstreamUrl } from '../../core-lite/network/upstream-url.ts';
import { findService } from '../../core-lite/providers/catalogue.ts';
import type { Service } from '../../core-lite/providers/provider.ts';
import type { Dialect } from '../../core-lite/state/dialect.ts';
import type { ModelFacts } from '../../core-lite/state/model.ts';
import type { SessionFacts } from '../../core-lite/state/session.ts';
import type { GateCredential } from '../../core-lite/vault/gate-credentials.ts';
import type { AskedFacts, CandidateFacts } from '../candidates.ts';
import type { ApprovalReason, RefusalReason } from '../reasons.ts';

export interface CallFacts {
  readonly dialect: Dialect;
  readonly session: Pick<SessionFacts, 'user' | 'manifest'>;
  readonly asked: AskedFacts;
  /** The built-in model that the tenant has every call answered from; `null` for none. */
  readonly fixture: ModelFacts | null;
}

/** A model that answers here, without a provider. */
interface BuiltIn {
  readonly proof: Allow<ApprovalReason>;
  readonly model: ModelFacts;
}

/** A model that may be called at its provider. */
export interface Candidate extends BuiltIn {
  readonly url: UpstreamUrl;
  readonly service: Service;
  readonly credential: GateCredential | null;
}

/** What may answer a call: a model of ours, or those that are called in their order until one answers. */
export type Plan =
  | { readonly builtIn: BuiltIn }
  | { readonly candidates: readonly [Candidate, ...Candidate[]] };

export function decideModelCall({ dialect, session, asked, fixture }: CallFacts): Plan | Deny<RefusalReason> {
  const { name, model } = asked;
  if (!isDeclared(name, session)) return new Deny('model_undeclared');
  if (!model) return new Deny('model_unknown');
  if (!model.dialects.includes(dialect)) return new Deny('dialect_unserved');
  const own = fixture ?? (model.baseUrl === null ? model : null);
  if (own) return { builtIn: { proof: new Allow('built_in'), model: own } };
  const first = decideCandidate(asked, dialect, session);
  if (first instanceof Deny) return first;
  const others = asked.fallbacks.flatMap((fallback) => {
    const decided = decideCandidate(fallback, dialect, session);
    return decided instanceof Deny ? [] : [decided];
  });
  return { candidates: [first, ...others] };
}

function decideCandidate(
  { name, model, url, credential }: CandidateFacts,
  dialect: Dialect,
  session: CallFacts['session'],
): Candidate | Deny<RefusalReason> {
  if (!isDeclared(name, session)) return new Deny('model_undeclared');
  if (!model) return new Deny('model_unknown');
  // A provider that is not known here was written by a newer program, or by hand: how it is called is not known either.
  const service = model.dialects.includes(dialect) ? findService(model.provider, dialect) : null;
  if (!service) return new Deny('dialect_unserved');
  if (!url) return new Deny('url_refused');
  if (model.credentialId !== null) {
    if (!credential || !MODEL_KINDS.has(credential.kind)) return new Deny('credential_missing');
    if (credential.user !== null && credential.user !== session.user) return new Deny('credential_user');
    const { host, port } = url.target;
    if (!credential.hosts.some((pattern) => matchesBinding(pattern, host, port)))
      return new Deny('credential_host');
  }
  return { proof: new Allow('declared'), model, url, service, credential };
}

function isDeclared(name: string, { manifest: { models } }: CallFacts['session']): boolean {
  return models === null || models.includes(name);
}

const MODEL_KINDS: ReadonlySet<string> = new Set(['model_key', 'bearer', 'headers']);
