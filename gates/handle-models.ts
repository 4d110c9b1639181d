/** `GET …/models` and `GET …/models/{name}`: what the run's session may call, in the shape that its client reads. */
import type { ServerResponse } from 'node:http';
import type { Family } from '../core-lite/state/dialect.ts';
import type { ModelFacts } from '../core-lite/state/model.ts';
import { formatRefusal, send } from './answer.ts';
import type { RunToken } from './calls.ts';
import { formatModel, formatModelList } from './dialects/model-list.ts';
import { readRun } from './facts.ts';
import type { Gate } from './gate.ts';
import { quoteName } from './quote-name.ts';
import type { RefusalReason } from './reasons.ts';

export interface ModelsArrival {
  readonly token: RunToken;
  readonly family: Family;
  readonly query: URLSearchParams;
  /** The one that is asked for; `null` for all of them. */
  readonly name: string | null;
  readonly userAgent: string;
  readonly source: string;
}

export async function handleModels(
  gate: Gate,
  arrival: ModelsArrival,
  response: ServerResponse,
): Promise<void> {
  const { token, source, family } = arrival;
  const callable = await list(gate, token).catch((): RefusalReason => 'facts_unavailable');
  const answer = typeof callable === 'string' ? callable : format(arrival, callable);
  if (typeof answer === 'string') {
    gate.record.refusal(answer, source);
    const { userAgent, name } = arrival;
    const detail = answer === 'model_unknown' && name !== null ? { text: quoteName(name) } : undefined;
    send(response, formatRefusal(family, answer, { userAgent, detail }));
    return;
  }
  const body = JSON.stringify(answer);
  send(response, { status: 200, headers: { 'content-type': 'application/json' }, body });
}

/** A model that the session may not call is as unknown as one that is not there. */
function format(
  { family, query, name }: ModelsArrival,
  models: readonly ModelFacts[],
): object | RefusalReason {
  if (name === null) return formatModelList(family, models, query);
  const found = models.find((model) => model.name === name);
  return found ? formatModel(family, found) : 'model_unknown';
}

async function list(gate: Gate, token: RunToken): Promise<readonly ModelFacts[] | RefusalReason> {
  const session = await readRun(gate.facts, token);
  if (typeof session === 'string') return session;
  const { models } = session.manifest;
  const all = await gate.facts.models();
  return all.filter(({ name }) => models === null || models.includes(name));
}
