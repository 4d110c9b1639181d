/** Stage 3 of a model call: what is to be known of the model that was asked for, and of what may be called in its place. */
import { parseUpstreamUrl, type UpstreamUrl } from '../core-lite/network/upstream-url.ts';
import type { ModelFacts } from '../core-lite/state/model.ts';
import type { GateCredential, GateCredentials } from '../core-lite/vault/gate-credentials.ts';
import type { Facts } from './facts.ts';

export interface CandidateFacts {
  readonly name: string;
  /** `null` where the catalogue has no such model. */
  readonly model: ModelFacts | null;
  /** Where the model is; `null` where its base URL is not one that is called. */
  readonly url: UpstreamUrl | null;
  /** The model's credential; `null` where it names none, or one that is gone. */
  readonly credential: GateCredential | null;
}

export interface AskedFacts extends CandidateFacts {
  /** In the order in which they are tried. */
  readonly fallbacks: readonly CandidateFacts[];
}

/** Rejects with Fault `database_unreachable` or `seal_broken`. */
export async function loadAsked(
  facts: Facts,
  credentials: GateCredentials,
  name: string,
): Promise<AskedFacts> {
  const asked = await loadCandidate(facts, credentials, name);
  const names = asked.model?.fallbacks ?? [];
  const fallbacks = await Promise.all(names.map((each) => loadCandidate(facts, credentials, each)));
  return { ...asked, fallbacks };
}

async function loadCandidate(
  facts: Facts,
  credentials: GateCredentials,
  name: string,
): Promise<CandidateFacts> {
  const model = await facts.model(name);
  const url = model?.baseUrl ? parseUpstreamUrl(model.baseUrl) : null;
  const credential = model?.credentialId ? await credentials.read(model.credentialId) : null;
  return { name, model, url: typeof url === 'string' ? null : url, credential };
}
