/**
 * An HTTP tool's call as a crossing: what makes two calls the same, and what is kept of its answer. How it failed tells
 * whether it may have run.
 */
import { bareOutcome, type Outcome } from '../../core-lite/record/crossing.ts';
import { formToolAnswer, type ToolAnswer } from '../act/tool-answer.ts';
import type { AnyCall } from '../calls.ts';
import type { Crosser } from '../cross.ts';
import { HTTP_OUTCOMES, type HttpOutcome } from '../http-outcomes.ts';
import { writeCanonical } from '../read/canonical-json.ts';
import type { RefusalReason } from '../reasons.ts';
import type { Run } from './run.ts';

export interface KeyedTool {
  readonly key: string;
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly credentialId: string | null;
}

/** Never rejects. */
export async function crossTool(
  crosser: Crosser,
  call: AnyCall,
  { input, ...named }: KeyedTool,
  work: (run: Run) => Promise<ToolAnswer>,
): Promise<Outcome | RefusalReason> {
  const request = Buffer.from(writeCanonical(input));
  const asked = { kind: 'http', server: null, request, ...named } as const;
  const crossed = await crosser.cross(call, asked, async (run) => keepAnswer(await work(run)));
  if (typeof crossed === 'string') return crossed;
  if (!('refusal' in crossed)) return crossed;
  // Nobody is there to read it.
  return crossed.refusal === 'client_left' ? bareOutcome('failed', 'http.stopped') : crossed.refusal;
}

/** What a kept answer is counted and logged as. */
export function nameOutcome({ code }: Outcome): HttpOutcome | 'completed' {
  return isHttpOutcome(code) ? code : 'completed';
}

function keepAnswer(answer: ToolAnswer): Outcome {
  const body = formToolAnswer(answer);
  if (!('failure' in answer)) return { status: 'completed', code: null, body };
  const { failure: code } = answer;
  if (code === 'http.unreachable') return { status: 'failed', code, body, unsent: true };
  return { status: MAY_HAVE_RUN.has(code) ? 'uncertain' : 'completed', code, body };
}

function isHttpOutcome(code: string | null): code is HttpOutcome {
  return code !== null && Object.hasOwn(HTTP_OUTCOMES, code);
}

/** Nobody knows what the tool did. All else is its answer, or was decided before anything was sent. */
const MAY_HAVE_RUN: ReadonlySet<HttpOutcome> = new Set(['http.lost', 'http.timeout', 'http.stopped']);
