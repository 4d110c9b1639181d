/** Reads the bodies of the product's own routes of MCP: a server, for a call a tool and its arguments, and nothing else. */
import { isObject, readObject } from '../../read/json-object.ts';
import type { JsonObject } from '../messages.ts';

export interface ToolAsked {
  readonly server: string;
  readonly tool: string;
  readonly arguments: JsonObject;
}

/** The server's name, or one line on what is wrong with the body. */
export function readServer(body: Buffer): { readonly server: string } | string {
  const read = readObject(body);
  if (typeof read === 'string') return read;
  const { server, ...rest } = read.value;
  if (Object.keys(rest).length > 0) return 'the body has a field beside "server"';
  return isText(server) ? { server } : '"server" is not a name';
}

export function readToolCall(body: Buffer): ToolAsked | string {
  const read = readObject(body);
  if (typeof read === 'string') return read;
  const { server, tool, arguments: args = {}, ...rest } = read.value;
  if (Object.keys(rest).length > 0) return 'the body has a field beside "server", "tool" and "arguments"';
  if (!isText(server)) return '"server" is not a name';
  if (!isText(tool)) return '"tool" is not a name';
  return isObject(args) ? { server, tool, arguments: args } : '"arguments" is not an object';
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && NAME.test(value);
}

/** What a log line and a database can hold. */
const NAME = /^[^\p{Cc}\p{Cs}]{1,256}$/u;
