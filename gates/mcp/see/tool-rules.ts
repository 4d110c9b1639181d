/** Which of a server's tools a session may see and call: what its manifest says of names and hints. A deny wins. */
import type { McpServer } from '../../../core-lite/state/manifest/mcp-server.ts';
import { isJsonObject, type JsonObject } from '../messages.ts';

type Rules = Pick<McpServer, 'tools' | 'hints'>;

/** By its name alone, whatever it does. */
export function mayName({ tools: { allow, deny } }: Rules, name: string): boolean {
  return !deny.some((pattern) => matches(pattern, name)) && allow.some((pattern) => matches(pattern, name));
}

/** What a tool says of itself must be enough; silence is read as the specification reads it. */
export function mayHint({ hints }: Rules, annotations: unknown): boolean {
  const { readOnlyHint, destructiveHint }: JsonObject = isJsonObject(annotations) ? annotations : {};
  switch (hints) {
    case 'any':
      return true;
    case 'read_only':
      return readOnlyHint === true;
    case 'not_destructive':
      // Only of a tool that changes something is the other hint meaningful; its default is true.
      return readOnlyHint === true || destructiveHint === false;
    default:
      return hints satisfies never;
  }
}

/** `*` stands for any part of a name. Linear in the name for each star: names and patterns are not ours. */
export function matches(pattern: string, name: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  if (rest.length === 0) return pattern === name;
  const last = rest.pop() ?? '';
  if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last))
    return false;
  const end = name.length - last.length;
  let at = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found < 0 || found + part.length > end) return false;
    at = found + part.length;
  }
  return at <= end;
}
