/** The routes that a harness keeps a server's connection with: it begins, it lists, it ends. */
import { mayAsk } from '../../caller-token.ts';
import type { AnyCall } from '../../calls.ts';
import { readRun } from '../../facts.ts';
import type { Gate } from '../../gate.ts';
import type { RefusalReason } from '../../reasons.ts';
import { type DeclaredServer, type DeclaredServers, findDeclared } from '../middle/declared-servers.ts';
import { recordUnopened } from '../middle/record-request.ts';
import type { ServerTalk } from '../middle/server-talk.ts';
import { tellStop } from '../middle/start-and-ask.ts';
import type { Failed } from '../upstream/failures.ts';
import { ownRequest, ownWay } from './own-asking.ts';
import { readServer } from './read-body.ts';
import type { KeyedArrival, Malformed } from './serve.ts';
import { formError, formFailure, formResult } from './tool-outcome.ts';

export type ServerOperation = 'connect' | 'list' | 'close';

/** Rejects with a Fault only. */
export async function serveServer(
  gate: Gate,
  servers: DeclaredServers,
  operation: ServerOperation,
  { body }: Pick<KeyedArrival, 'body'>,
  call: AnyCall,
): Promise<{ readonly body: string } | Malformed | RefusalReason> {
  const session = await readRun(gate.facts, call.token);
  if (typeof session === 'string') return session;
  const asked = readServer(body);
  if (typeof asked === 'string') return { malformed: asked };
  if (!mayAsk(call.token, 'server', asked.server)) return 'token_scope';
  const at = findDeclared(session, asked.server);
  if (!at) return 'server_undeclared';
  const unstarted = await gate.starter.start(call, null);
  if (unstarted) return unstarted.refusal === 'client_left' ? 'shutting_down' : unstarted.refusal;
  if (operation === 'close') {
    await servers.end(at);
    return { body: formResult({}) };
  }
  const done = tellStop(call, await openAnd(servers, operation, call, at));
  if ('refusal' in done) return done.refusal === 'client_left' ? 'shutting_down' : done.refusal;
  recordUnopened(gate, call, at.name, 'failure' in done ? done.failure : 'completed');
  return 'failure' in done ? { body: formFailure(done) } : done;
}

async function openAnd(
  servers: DeclaredServers,
  operation: 'connect' | 'list',
  call: AnyCall,
  at: DeclaredServer,
): Promise<{ readonly body: string } | Failed> {
  const talk = await servers.open(call, at, call.signal);
  if ('failure' in talk) return talk;
  return operation === 'connect' ? { body: formResult(describe(talk)) } : list(talk, call);
}

function describe({ name: server, about }: ServerTalk): object {
  const { protocolVersion, serverInfo, capabilities, instructions } = about;
  return { server, protocolVersion, serverInfo, capabilities, instructions };
}

async function list(talk: ServerTalk, { signal }: AnyCall): Promise<{ readonly body: string } | Failed> {
  const read = await talk.listTools(ownRequest('tools/list', {}), ownWay(signal));
  if ('shown' in read) return { body: formResult({ server: talk.name, tools: read.shown }) };
  if ('failure' in read) return read;
  const { code, message } = 'error' in read ? read.error : { code: 0, message: '' };
  return { body: formError('tool.error', message, { rpc: { code } }) };
}
