/**
 * Whether a tool may be called with these arguments, judged before anything of the call is sent: by its name, by what its
 * server lists, and by its schema. Nothing is refused for what is only remembered: the server is asked anew first.
 */
import type { McpServer } from '../../../core-lite/state/manifest/mcp-server.ts';
import { findHeaderParams } from '../downstream/header-params.ts';
import { type Answer, isJsonObject, type JsonObject } from '../messages.ts';
import { type Denied, deny } from '../see/denials.ts';
import type { ServerTools } from '../see/server-tools.ts';
import type { KnownTool } from '../see/tool-memory.ts';
import { mayName } from '../see/tool-rules.ts';
import { type Failed, fail } from '../upstream/failures.ts';
import { formParamHeaders } from '../upstream/param-headers.ts';
import type { Asked } from '../upstream/server.ts';

export interface ArgumentJudge {
  judge(schema: object, args: unknown): string | null;
}

export interface CallJudge {
  readonly declared: McpServer;
  readonly tools: ServerTools;
  readonly schemas: ArgumentJudge;
  /** What the gate asks the server by itself. */
  readonly ask: (asked: Asked) => Promise<Answer | Failed>;
}

/** The `Mcp-Param-*` lines of a call that may be made. */
export interface MayCall {
  readonly headers: Readonly<Record<string, string>>;
}

export async function judgeCall(judge: CallJudge, asked: Asked): Promise<MayCall | Denied | Answer | Failed> {
  const { declared, tools } = judge;
  const { name, arguments: args = {} } = asked.params;
  if (typeof name !== 'string') return deny('tool_undeclared', 'params.name is not a text');
  if (!mayName(declared, name)) return deny('tool_undeclared', 'its manifest does not allow the name');
  const remembered = tools.fresh ? judgeKnown(judge, name, args) : null;
  if (remembered && 'headers' in remembered) return remembered;
  const read = await readTools(judge, asked);
  return 'shown' in read ? judgeKnown(judge, name, args) : read;
}

function judgeKnown({ tools, schemas }: CallJudge, name: string, args: unknown): MayCall | Denied {
  const tool = tools.find(name);
  if (!tool) return deny('tool_undeclared', 'its server lists no such tool');
  const hidden = judgeShown(tools, tool);
  if (hidden) return hidden;
  const misfit = judgeArguments(schemas, tool.inputSchema, args);
  if (misfit) return deny('arguments_invalid', misfit);
  const params: JsonObject = isJsonObject(args) ? args : {};
  return { headers: formParamHeaders(findHeaderParams(tool.inputSchema), params) };
}

/** One that is null passes as one that is not given (SEP-2243): many clients write them so. It goes on as it is. */
function judgeArguments(schemas: ArgumentJudge, schema: object, args: unknown): string | null {
  const misfit = schemas.judge(schema, args);
  if (misfit === null || !isJsonObject(args)) return misfit;
  const given = Object.entries(args).filter(([, value]) => value !== null);
  return schemas.judge(schema, Object.fromEntries(given)) === null ? null : misfit;
}

function judgeShown(tools: ServerTools, tool: KnownTool): Denied | null {
  if (tools.isShown(tool)) return null;
  if (!tool.hinted)
    return deny('tool_undeclared', 'what it says of itself is not what its manifest asks for');
  return deny('tool_changed', 'open a new session to accept it as it is');
}

/** Reads and remembers all of the server's tools. @returns those that may be shown */
export async function readTools(
  { tools, ask }: Pick<CallJudge, 'tools' | 'ask'>,
  { meta: { client } }: Pick<Asked, 'meta'>,
): Promise<{ readonly shown: readonly JsonObject[] } | Answer | Failed> {
  const listed: unknown[] = [];
  let cursor: unknown;
  for (let page = 0; page < MAX_PAGES && listed.length < MAX_LISTED; page += 1) {
    const answer = await ask({
      method: 'tools/list',
      params: cursor === undefined ? {} : { cursor },
      meta: { client, logLevel: null, wantsProgress: false, rest: {} },
    });
    if (!('result' in answer)) return 'failure' in answer ? { ...answer, mayHaveRun: false } : answer;
    const { tools: more, nextCursor } = answer.result;
    if (Array.isArray(more)) listed.push(...more.slice(0, MAX_LISTED));
    if (typeof nextCursor !== 'string') return { shown: await tools.look(listed, true) };
    cursor = nextCursor;
  }
  return fail('malformed', false, 'its list of tools does not end');
}

const MAX_PAGES = 100;
const MAX_LISTED = 10_000;
