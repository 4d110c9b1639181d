/** `session open|list|end`: conversations of agents. What one may call is pinned when it opens. */
import { readFile } from 'node:fs/promises';
import { openApi, path, query } from '../api.ts';
import { defineCommand, wrong } from '../command.ts';
import { CommandError, EXIT } from '../command-error.ts';
import { formatMoment, formatTable } from '../table.ts';

/** A session as core answers it. */
export interface SessionAnswer {
  readonly id: string;
  readonly agent: string;
  readonly environment: string | null;
  readonly environmentId: string | null;
  readonly user: string | null;
  readonly leaseEpoch: number;
  readonly activeTurn: string | null;
  readonly openedAt: string;
  readonly endedAt: string | null;
}

export const sessionOpen = defineCommand({
  name: 'session open',
  summary: 'opens a session of an agent and prints its id',
  args: [],
  options: {
    agent: { type: 'string', value: 'ID', help: 'whose session it is; required' },
    env: { type: 'string', value: 'NAME', help: 'the environment that it runs in; none if left out' },
    user: { type: 'string', value: 'USER', help: 'for whom, in words of your own' },
    manifest: {
      type: 'string',
      value: 'FILE',
      help: 'what it may call, JSON; every model, no MCP server and no HTTP tool if left out',
    },
    json: { type: 'boolean', help: 'prints JSON' },
  },
  notes: [
    'A manifest is {"models": ["NAME"], "mcpServers": {"NAME": {"url", …}}, "httpTools": {"NAME": {"url", "method", "inputSchema", …}}} (docs/http-tools.md). It cannot be changed afterwards.',
  ],
  examples: [
    'session=$(npx sallyport session open --agent coder --env demo)',
    'npx sallyport session open --agent coder --manifest manifest.json --json',
  ],
  run: async ({ options }, io) => {
    const { agent, env: environment, user } = options;
    if (!agent) throw wrong(sessionOpen, 'session open needs --agent');
    const manifest = options.manifest === undefined ? undefined : await readManifest(options.manifest);
    const api = await openApi(io);
    const body = { agent, environment, user, manifest };
    const session = await api.call<SessionAnswer>('POST', '/v1/sessions', body);
    io.out(options.json ? JSON.stringify(session, null, 2) : session.id);
    return EXIT.done;
  },
});

export const sessionList = defineCommand({
  name: 'session list',
  summary: 'lists sessions, newest last',
  args: [],
  options: {
    agent: { type: 'string', value: 'ID', help: 'of this agent' },
    open: { type: 'boolean', help: 'that have not ended' },
    limit: { type: 'string', value: 'N', help: 'the newest N, to 1000; default 100' },
    json: { type: 'boolean', help: 'prints JSON' },
  },
  examples: ['npx sallyport session list --open'],
  run: async ({ options }, io) => {
    const { agent, limit = '100' } = options;
    if (!/^[1-9]\d{0,3}$/.test(limit) || Number(limit) > 1000)
      throw wrong(sessionList, '--limit is not a number from 1 to 1000');
    const api = await openApi(io);
    const at = `/v1/sessions${query({ agent, open: options.open ? 'true' : undefined, limit })}`;
    const found = (await api.call<readonly SessionAnswer[]>('GET', at)).toReversed();
    if (options.json) io.out(JSON.stringify(found, null, 2));
    else for (const line of formatTable([HEAD, ...found.map(sessionRow)])) io.out(line);
    return EXIT.done;
  },
});

export const sessionEnd = defineCommand({
  name: 'session end',
  summary: 'ends a session and its active turn: its tokens are refused within a second',
  args: ['SESSION'],
  options: {},
  examples: ['npx sallyport session end "$session"'],
  run: async ({ args: [id] }, io) => {
    const api = await openApi(io);
    await api.call('POST', path`/v1/sessions/${id}/end`);
    io.out(`session ${id} has ended`);
    return EXIT.done;
  },
});

async function readManifest(file: string): Promise<unknown> {
  const text = await readFile(file, 'utf8').catch(() => {
    throw new CommandError(`the manifest ${file} cannot be read`, 'name a file that is there');
  });
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message quotes the text.
    throw new CommandError(`the manifest ${file} is not JSON`, 'see sallyport session open --help');
  }
}

function sessionRow(session: SessionAnswer): string[] {
  const { id, agent, environment, user, activeTurn, leaseEpoch, openedAt, endedAt } = session;
  return [
    id,
    agent,
    environment ?? '-',
    user ?? '-',
    activeTurn ?? '-',
    String(leaseEpoch),
    formatMoment(openedAt),
    endedAt === null ? 'open' : formatMoment(endedAt),
  ];
}

const HEAD = ['SESSION', 'AGENT', 'ENVIRONMENT', 'USER', 'ACTIVE TURN', 'LEASE', 'OPENED', 'ENDED'];
