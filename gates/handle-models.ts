/** `GET /v1/models`: what the run's session may call, in one answer that the clients of both dialects read. */
import type { ServerResponse } from 'node:http';
import { decideRunStaleness } from '../core-lite/state/session.ts';
import { formatRefusal, type Surface, send } from './answer.ts';
import type { RunToken } from './calls.ts';
import type { Gate } from './gate.ts';
import type { RefusalReason } from './reasons.ts';

export async function handleModels(
  gate: Gate,
  { token, surface, userAgent, source }: ModelsArrival,
  response: ServerResponse,
): Promise<void> {
  const listed = await list(gate, token).catch((): RefusalReason => 'facts_unavailable');
  if (typeof listed === 'string') {
    gate.record.refusal(listed, source);
    send(response, formatRefusal(surface, listed, userAgent));
    return;
  }
  const body = JSON.stringify({
    object: 'list',
    data: listed,
    has_more: false,
    first_id: listed[0]?.id ?? null,
    last_id: listed.at(-1)?.id ?? null,
  });
  send(response, { status: 200, headers: { 'content-type': 'application/json' }, body });
}

export interface ModelsArrival {
  readonly token: RunToken;
  readonly surface: Surface;
  readonly userAgent: string;
  readonly source: string;
}

async function list(gate: Gate, token: RunToken) {
  const session = await gate.facts.session(token.claims.sub);
  if (!session) return 'token_untrusted';
  if (decideRunStaleness(token.claims, session)) return 'run_stale';
  const { models } = session.manifest;
  const all = await gate.facts.models();
  return all
    .filter(({ name }) => models === null || models.includes(name))
    .map(({ name, createdAt }) => ({
      id: name,
      object: 'model',
      created: Math.floor(createdAt.getTime() / 1000),
      owned_by: 'sallyport',
      type: 'model',
      display_name: name,
      created_at: createdAt.toISOString(),
    }));
}
