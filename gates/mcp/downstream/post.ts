/**
 * What a client posted, and which era it speaks: a body with the modern metadata is modern, whatever its head says, and
 * everything else belongs to a legacy session. The telling is the SDK's own, so that it is the same for every client.
 */
import type { ServerResponse } from 'node:http';
import { classifyInboundRequest } from '@modelcontextprotocol/server';
import { send } from '../../answer.ts';
import {
  isJsonObject,
  type JsonObject,
  type RequestId,
  RPC,
  type RpcNotification,
  type RpcRequest,
} from '../messages.ts';
import type { Arrival, Downstream } from './context.ts';
import { readHeader } from './head.ts';
import { sendJson } from './json-answer.ts';
import { serveInitialize } from './legacy.ts';
import { postToSession } from './legacy-post.ts';
import { serveModern, takeModernNotification } from './modern.ts';
import { judgeModernHead } from './modern-head.ts';
import { MODERN_VERSION } from './names.ts';
import { parseBody } from './parse.ts';

/** Never rejects. */
export async function servePost(
  down: Downstream,
  arrival: Arrival,
  body: Buffer,
  response: ServerResponse,
): Promise<void> {
  const parsed = parseBody(body);
  if (typeof parsed === 'string') return sendJson(response, 400, { code: RPC.parse, message: parsed });
  const { value } = parsed;
  const told = classifyInboundRequest({ httpMethod: 'POST', ...readHeads(arrival.headers), body: value });
  switch (told.kind) {
    case 'reject': {
      const { httpStatus, code, message, data } = told;
      const error = { code, message, ...(data === undefined ? {} : { data }) };
      return sendJson(response, httpStatus, error, {}, idOf(value));
    }
    case 'modern':
      return postModern(down, arrival, value as JsonObject, told.classification.revision, response);
    case 'legacy':
      return told.reason === 'initialize'
        ? serveInitialize(down, arrival, value as RpcRequest, response)
        : postToSession(down, arrival, value, response);
    default:
      return told satisfies never;
  }
}

async function postModern(
  down: Downstream,
  arrival: Arrival,
  message: JsonObject,
  version: string | undefined,
  response: ServerResponse,
): Promise<void> {
  const refuse = (code: number, text: string, data?: object): void =>
    sendJson(response, 400, { code, message: text, ...(data ? { data } : {}) }, {}, idOf(message));
  if (version !== MODERN_VERSION) {
    const data = { supported: [MODERN_VERSION], ...(version === undefined ? {} : { requested: version }) };
    return refuse(RPC.unsupportedVersion, `Unsupported protocol version: ${version}`, data);
  }
  if (!('id' in message)) {
    send(response, { status: 202, headers: {}, body: '' });
    return takeModernNotification(down, arrival, message as unknown as RpcNotification);
  }
  const request = message as unknown as RpcRequest;
  const wrong = judgeModernHead(request, arrival.headers);
  if (wrong) return refuse(wrong.code, wrong.message);
  return serveModern(down, arrival, request, response);
}

function readHeads(headers: readonly string[]) {
  const [protocolVersionHeader, mcpMethodHeader, mcpNameHeader] = HEADS.map((name) =>
    readHeader(headers, name),
  );
  return {
    ...(protocolVersionHeader === undefined ? {} : { protocolVersionHeader }),
    ...(mcpMethodHeader === undefined ? {} : { mcpMethodHeader }),
    ...(mcpNameHeader === undefined ? {} : { mcpNameHeader }),
  };
}

/** Of a message that is refused: `null` where it has none. */
function idOf(value: unknown): RequestId | null {
  const id = isJsonObject(value) ? value['id'] : null;
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}

const HEADS = ['mcp-protocol-version', 'mcp-method', 'mcp-name'] as const;
