/**
 * Stage 6 of a tool call: one HTTP request with the vault's credential and what says who calls, its answer read whole
 * within limits. It is never sent again, and no redirect is followed.
 */
import type { Allow } from '../../core-lite/decision.ts';
import type { UpstreamUrl } from '../../core-lite/network/upstream-url.ts';
import type { HttpTool } from '../../core-lite/state/manifest/http-tool.ts';
import type { GateCredential } from '../../core-lite/vault/gate-credentials.ts';
import { VERSION } from '../../core-lite/version.ts';
import type { ToolRequest } from '../read/tool-request.ts';
import type { ToolSchemas } from '../tool-schemas.ts';
import { headerNames, type PutOn, putOn } from './credential.ts';
import { foldName } from './headers.ts';
import { readAnswer, type ToolAnswer } from './tool-answer.ts';
import { exchange, type OutgoingRequest, type Sender } from './tool-exchange.ts';
import { identityHeaders, type ToolCaller } from './tool-identity.ts';
import type { Upstreams } from './upstream.ts';

export interface ToolCall {
  readonly tool: Pick<HttpTool, 'credential' | 'timeoutMs' | 'outputSchema'>;
  readonly request: ToolRequest;
  readonly url: UpstreamUrl;
  readonly credential: GateCredential | null;
  readonly caller: ToolCaller;
  readonly schemas: ToolSchemas;
}

/**
 * Never rejects but for faults of our own.
 * @param signal ends it as `http.stopped`
 * @param run of a keyed call: nothing is written before it was asked, on a connection that stands
 */
export async function callTool(
  proof: Allow<string>,
  upstreams: Upstreams,
  call: ToolCall,
  signal: AbortSignal,
  run: Sender | null,
): Promise<ToolAnswer> {
  const limit = AbortSignal.timeout(call.tool.timeoutMs);
  const either = AbortSignal.any([signal, limit]);
  try {
    return await reachAndAsk(proof, upstreams, call, either, run);
  } catch (error) {
    if (signal.aborted) return { failure: 'http.stopped' };
    if (limit.aborted) return { failure: 'http.timeout' };
    throw error;
  }
}

async function reachAndAsk(
  proof: Allow<string>,
  upstreams: Upstreams,
  { tool, request, url, credential, caller, schemas }: ToolCall,
  signal: AbortSignal,
  run: Sender | null,
): Promise<ToolAnswer> {
  const pool = await upstreams.reach(proof, url, credential, signal);
  if (typeof pool === 'string')
    return { failure: pool === 'resolve_failed' ? 'http.unreachable' : 'http.refused' };
  const put = putOn(proof, credential, null);
  const outgoing = formOutgoing(request, put, identityHeaders(caller));
  const collected = await exchange(pool, outgoing, run, signal);
  if ('failure' in collected) return collected;
  const answer = await readAnswer(collected, put.secrets);
  if ('failure' in answer || !tool.outputSchema) return answer;
  const misfit = schemas.judge(tool.outputSchema, 'output', answer.output.value);
  return misfit ? { failure: 'tool.invalid-output', detail: misfit } : answer;
}

/** What the credential sets outranks what the manifest has under that name, whichever way it is spelled. */
function formOutgoing(
  { method, path, headers, body }: ToolRequest,
  put: PutOn,
  identity: readonly string[],
): OutgoingRequest {
  const set = new Set(headerNames(put).map(foldName));
  const declared: string[] = [];
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const [name = '', value = ''] = [headers[i], headers[i + 1]];
    if (!set.has(foldName(name))) declared.push(name, value);
  }
  const names = new Set(headers.filter((_, i) => i % 2 === 0).map(foldName));
  const usual = USUAL.filter(([name]) => !names.has(name) && !set.has(name)).flat();
  const all = [...usual, ...declared, ...put.headers, ...identity];
  return { method, path, headers: all, body: body === null ? null : Buffer.from(body) };
}

const USUAL: readonly (readonly [name: string, value: string])[] = [
  ['accept', 'application/json, text/*;q=0.9'],
  ['accept-encoding', 'identity'],
  ['user-agent', `sallyport/${VERSION}`],
];
