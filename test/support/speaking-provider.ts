/**
 * A provider that speaks every dialect as the fixture models do, behind a key, for real clients: by its model's name it
 * repeats, calls tools, hangs in the middle, or says no in the dialect's own shape.
 */
import { type Dialect, FAMILIES } from '../../core-lite/state/dialect.ts';
import { formatError } from '../../gates/answer.ts';
import { BODY_PATHS, type Operation, parseModelPath } from '../../gates/dialects/operations.ts';
import { ANTHROPIC } from '../../gates/fixture/anthropic.ts';
import type { FixtureDialect } from '../../gates/fixture/dialect.ts';
import { embed } from '../../gates/fixture/embeddings.ts';
import { GEMINI } from '../../gates/fixture/gemini.ts';
import { parseObject } from '../../gates/fixture/json.ts';
import { speak } from '../../gates/fixture/models.ts';
import { OPENAI } from '../../gates/fixture/openai.ts';
import { RESPONSES } from '../../gates/fixture/responses.ts';
import type { Asked, Behaviour } from './provider.ts';

/** What its models are called. */
export const SPEAKING = {
  echo: 'claude-echo',
  tools: 'claude-tools',
  /** Says its first piece and nothing more. */
  hangs: 'claude-hangs',
  /** Says nothing at all. */
  silent: 'claude-silent',
  /** The request is not good enough. */
  refuses: 'claude-refuses',
} as const;

/** @param key that it asks for, wherever its dialect has it */
export function speakBehind(key: string): Behaviour {
  return (asked, response) => {
    const reply = decide(asked, key);
    if (reply.kind === 'none') return;
    const { status = 200, type = 'application/json', text } = reply;
    response.writeHead(status, { 'content-type': type, 'request-id': 'req_1' });
    if (reply.kind === 'begun') response.write(text);
    else response.end(text);
  };
}

interface Reply {
  readonly kind: 'none' | 'begun' | 'whole';
  readonly status?: number;
  readonly type?: string;
  readonly text: string;
}

function decide(asked: Asked, key: string): Reply {
  const call = readCall(asked);
  if (!call) return fail(404, 'openai', 'no such route');
  const { dialect } = call.operation;
  const given = Object.values(asked.headers);
  if (!given.includes(key) && !given.includes(`Bearer ${key}`)) return fail(401, dialect, 'no key');
  if (call.model === SPEAKING.refuses) return fail(400, dialect, 'an odd field');
  return call.model === SPEAKING.silent ? { kind: 'none', text: '' } : answer(call, asked);
}

interface Call {
  readonly operation: Operation;
  readonly model: string;
  readonly body: Readonly<Record<string, unknown>>;
}

function readCall({ path, body }: Asked): Call | null {
  const json = parseObject(body);
  const [where = ''] = path.split('?');
  const operation = BODY_PATHS[where.replace('/v1/', '/')];
  if (!json) return null;
  if (operation) return { operation, model: String(json['model']), body: json };
  const named = parseModelPath(where.replace('/v1beta/models/', ''));
  return typeof named === 'string' ? null : { ...named, body: json };
}

function answer({ operation, model, body }: Call, { path }: Asked): Reply {
  const { dialect, streamed, counts } = operation;
  if (dialect === 'embeddings') return tell(embed(model, body) ?? {});
  const spoken = SPOKEN[dialect];
  const asked = spoken.read(body);
  if (!asked) return fail(400, dialect, 'no messages');
  if (counts) return tell(spoken.count(asked.words));
  const { said } = speak(model === SPEAKING.tools ? 'fixture/tools' : 'fixture/echo', asked);
  if (!(streamed === 'body' ? body['stream'] === true : streamed)) return tell(spoken.whole(said));
  if (dialect === 'gemini' && !path.includes('alt=sse')) return fail(400, dialect, 'no events');
  const { before, pieces, after, usage, end } = spoken.stream(said);
  const type = 'text/event-stream';
  if (model === SPEAKING.hangs) return { kind: 'begun', type, text: before + (pieces[0] ?? '') };
  return { kind: 'whole', type, text: before + pieces.join('') + after + usage + end };
}

function tell(body: object): Reply {
  return { kind: 'whole', text: JSON.stringify(body) };
}

function fail(status: number, dialect: Dialect, message: string): Reply {
  return { kind: 'whole', status, text: formatError(FAMILIES[dialect], 'provider_says_no', status, message) };
}

const SPOKEN: Readonly<Record<Exclude<Dialect, 'embeddings'>, FixtureDialect>> = {
  openai: OPENAI,
  responses: RESPONSES,
  anthropic: ANTHROPIC,
  gemini: GEMINI,
};
