/**
 * Makes the request of a tool's call from what its manifest declares and the input. The input is data: in the URL it is
 * encoded and no step of a path, in a header it is visible ASCII, and it names nothing there. What stands in the URL or
 * in a header stands nowhere else. Nothing of the call's run, and no secret, is in it.
 */
import { parseUpstreamUrl, type UpstreamUrl } from '../../core-lite/network/upstream-url.ts';
import type { HttpTool } from '../../core-lite/state/manifest/http-tool.ts';
import { fillTemplate } from '../../core-lite/state/manifest/template.ts';
import { fillBody } from './tool-body.ts';
import { findUnfit } from './tool-fit.ts';
import { planTool, type ToolPlan } from './tool-plan.ts';
import { anyText, encodePart, plainText, readField, type ToolInput } from './tool-values.ts';

export interface ToolRequest {
  readonly method: HttpTool['method'];
  /** `null` where it is not one that is called. */
  readonly url: UpstreamUrl | null;
  /** Path and query, as they are sent. */
  readonly path: string;
  /** Name, value, name, value; those of the body are among them. */
  readonly headers: readonly string[];
  /** `null` for none. */
  readonly body: string | null;
}

/** The request, or one line on why the input makes none; never a value of it. */
export function makeToolRequest(tool: HttpTool, input: ToolInput): ToolRequest | string {
  const { method, body } = tool;
  const plan = planTool(tool);
  const rest = Object.keys(input).filter((field) => !plan.placed.has(field));
  const unfit = findUnfit(plan, input, body === 'none' || body === 'form' ? rest : []);
  if (unfit) return unfit;
  const path = formPath(plan, input, body === 'none' ? rest : []);
  if (path.length > MAX_PATH_CHARS) return `input makes the URL longer than ${MAX_PATH_CHARS} characters`;
  const url = parseUpstreamUrl(plan.origin + path);
  const formed = formBody(body, rest, input);
  return {
    method,
    url: typeof url === 'string' ? null : url,
    path,
    headers: [...formHeaders(plan, input), ...(formed ? ['content-type', formed.type] : [])],
    body: formed ? formed.text : null,
  };
}

/** A parameter whose field is missing is left out. */
function formPath({ steps, pairs }: ToolPlan, input: ToolInput, more: readonly string[]): string {
  const encode = (text: string | null): string | null => (text === null ? null : encodePart(text));
  const path = steps.map((step) => fillTemplate(step, (field) => encode(plainText(readField(input, field)))));
  const declared = pairs.map((pair) =>
    fillTemplate(pair, (field) => encode(anyText(readField(input, field)))),
  );
  const query = [...declared.filter((pair) => pair !== null), ...formPairs(more, input)];
  return path.join('/') + (query.length > 0 ? `?${query.join('&')}` : '');
}

function formPairs(fields: readonly string[], input: ToolInput): string[] {
  return fields.map((field) => `${encodePart(field)}=${encodePart(anyText(readField(input, field)) ?? '')}`);
}

/** A header whose field is missing is left out. */
function formHeaders({ headers }: ToolPlan, input: ToolInput): string[] {
  return headers.flatMap(([name, value]) => {
    const filled = fillTemplate(value, (field) => plainText(readField(input, field)));
    return filled === null ? [] : [name, filled];
  });
}

function formBody(
  body: HttpTool['body'],
  rest: readonly string[],
  input: ToolInput,
): { readonly type: string; readonly text: string } | null {
  if (body === 'none') return null;
  if (body === 'form') {
    return { type: 'application/x-www-form-urlencoded', text: formPairs(rest, input).join('&') };
  }
  const value =
    body === 'json'
      ? Object.fromEntries(rest.map((field) => [field, readField(input, field)]))
      : fillBody(body, (field) => readField(input, field));
  return { type: 'application/json', text: JSON.stringify(value) };
}

/** What servers take for a line is often 8 KiB. */
const MAX_PATH_CHARS = 16 * 1024;
