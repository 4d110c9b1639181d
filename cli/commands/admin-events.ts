/** `admin-events`: who changed what. */
import { openApi, query } from '../api.ts';
import { defineCommand, wrong } from '../command.ts';
import { EXIT } from '../command-error.ts';
import { formatMoment, formatTable } from '../table.ts';

interface AdminEventAnswer {
  readonly id: string;
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly subject: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

export const adminEvents = defineCommand({
  name: 'admin-events',
  summary: 'lists what admins changed, newest last',
  args: [],
  options: {
    limit: { type: 'string', value: 'N', help: 'how many at most, to 1000; default 100' },
    json: { type: 'boolean', help: 'prints JSON' },
  },
  examples: ['npx sallyport admin-events --limit 20'],
  run: async ({ options }, io) => {
    const { limit = '100' } = options;
    if (!/^[1-9]\d{0,3}$/.test(limit) || Number(limit) > 1000)
      throw wrong(adminEvents, '--limit is not a number from 1 to 1000');
    const api = await openApi(io);
    const found = await api.call<AdminEventAnswer[]>('GET', `/v1/admin-events${query({ limit })}`);
    const events = found.toReversed();
    if (options.json) io.out(JSON.stringify(events, null, 2));
    else for (const line of formatTable([HEAD, ...events.map(eventRow)])) io.out(line);
    return EXIT.done;
  },
});

function eventRow({ at, actor, action, subject, detail }: AdminEventAnswer): string[] {
  return [formatMoment(at), actor, action, subject, JSON.stringify(detail)];
}

const HEAD = ['TIME', 'ACTOR', 'ACTION', 'SUBJECT', 'DETAIL'];
