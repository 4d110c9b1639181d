/** A tool's declaration as pieces: where in its request fields of the input stand. */
import type { HttpTool } from '../../core-lite/state/manifest/http-tool.ts';
import { fieldsOf, type Piece, parseTemplate } from '../../core-lite/state/manifest/template.ts';

export interface ToolPlan {
  /** Scheme, host and port: no field stands in them. */
  readonly origin: string;
  /** What stands between the slashes; the first is empty. */
  readonly steps: readonly (readonly Piece[])[];
  /** The parameters of the query. */
  readonly pairs: readonly (readonly Piece[])[];
  readonly headers: readonly (readonly [name: string, value: readonly Piece[]])[];
  /** The fields that stand in the URL or a header. */
  readonly placed: ReadonlySet<string>;
}

export function planTool({ url, headers: declared }: Pick<HttpTool, 'url' | 'headers'>): ToolPlan {
  const slash = url.indexOf('/', url.indexOf('//') + 2);
  const mark = url.indexOf('?');
  const end = mark < 0 ? url.length : mark;
  const steps = url.slice(slash, end).split('/').map(pieces);
  const parameters = url.slice(end + 1).split('&');
  const pairs = parameters.filter((pair) => pair !== '').map(pieces);
  const headers = Object.entries(declared).map(([name, value]) => [name, pieces(value)] as const);
  const values = headers.map(([, value]) => value);
  const placed = new Set([...steps, ...pairs, ...values].flatMap(fieldsOf));
  return { origin: url.slice(0, slash), steps, pairs, headers, placed };
}

function pieces(text: string): readonly Piece[] {
  return parseTemplate(text) ?? [text];
}
