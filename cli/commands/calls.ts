/** `calls`: the keyed tool calls of a session, newest last, and how each stands. */
import { openApi } from '../api.ts';
import { defineCommand, wrong } from '../command.ts';
import { EXIT } from '../command-error.ts';
import { readNewest } from '../read-newest.ts';
import { formatDuration, formatMoment, formatTable } from '../table.ts';

interface CallAnswer {
  readonly id: string;
  readonly key: string;
  readonly kind: string;
  readonly server: string | null;
  readonly tool: string;
  readonly credentialId: string | null;
  readonly turnId: string | null;
  readonly status: string;
  readonly code: string | null;
  readonly startedAt: string;
  readonly durationMs: number | null;
  readonly resultBytes: number | null;
}

export const calls = defineCommand({
  name: 'calls',
  summary: 'shows the keyed tool calls of a session, newest last, and how each stands',
  args: [],
  options: {
    session: { type: 'string', value: 'SESSION', help: 'of this session' },
    limit: { type: 'string', value: 'N', help: 'the newest N; default 100' },
    json: { type: 'boolean', help: 'prints JSON' },
  },
  notes: [
    'invoking: it runs. uncertain: it may have run, and is never run again. failed: nothing reached the tool, and the same key may be sent again. completed: the tool answered, be it with an error.',
    'TOOK is from the first byte to the settlement, BYTES is what the answer had. Arguments and answers are nowhere.',
  ],
  examples: [
    'npx sallyport calls --session ses_0199f3a2c4d87e0b9c3f1a2b3c4d5e6f',
    'npx sallyport calls --session ses_0199f3a2c4d87e0b9c3f1a2b3c4d5e6f --limit 20 --json',
  ],
  run: async ({ options }, io) => {
    const { session, limit = '100' } = options;
    if (session === undefined) throw wrong(calls, 'calls needs --session');
    if (!/^[1-9]\d{0,5}$/.test(limit)) throw wrong(calls, '--limit is not a number from 1 to 999999');
    const at = `/v1/sessions/${encodeURIComponent(session)}/calls/tool`;
    const found = await readNewest<CallAnswer>(await openApi(io), at, {}, Number(limit));
    if (options.json) io.out(JSON.stringify(found, null, 2));
    else for (const line of formatTable([HEAD, ...found.map(formatCall)])) io.out(line);
    return EXIT.done;
  },
});

function formatCall(call: CallAnswer): string[] {
  return [
    formatMoment(call.startedAt),
    call.turnId ?? '-',
    call.server === null ? call.tool : `${call.server}/${call.tool}`,
    call.key,
    [call.status, call.code].filter(Boolean).join(' '),
    call.credentialId ?? '-',
    call.durationMs === null ? '-' : formatDuration(call.durationMs),
    call.resultBytes === null ? '-' : String(call.resultBytes),
  ];
}

const HEAD = ['TIME', 'TURN', 'TOOL', 'KEY', 'STATUS', 'CREDENTIAL', 'TOOK', 'BYTES'];
