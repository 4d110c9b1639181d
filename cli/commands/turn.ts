/** `turn start|cancel|end`: units of work of a session, by hand. `sallyport run` does all of it by itself. */
import { openApi, path } from '../api.ts';
import { defineCommand, wrong } from '../command.ts';
import { EXIT } from '../command-error.ts';

/** A turn as core answers it. */
export interface TurnAnswer {
  readonly id: string;
  readonly sessionId: string;
  readonly state: 'active' | 'ended' | 'cancelled';
  readonly leaseEpoch: number;
  readonly startedAt: string;
  readonly endedAt: string | null;
}

export const turnStart = defineCommand({
  name: 'turn start',
  summary: 'starts a turn of a session that has none active, and prints its id',
  args: ['SESSION'],
  options: { json: { type: 'boolean', help: 'prints JSON' } },
  examples: ['turn=$(npx sallyport turn start "$session")'],
  run: async ({ args: [session], options }, io) => {
    const api = await openApi(io);
    const turn = await api.call<TurnAnswer>('POST', path`/v1/sessions/${session}/turns`);
    io.out(options.json ? JSON.stringify(turn, null, 2) : turn.id);
    return EXIT.done;
  },
});

export const turnCancel = defineCommand({
  name: 'turn cancel',
  summary: 'cancels a turn whoever runs it: its calls and connections stop within a second',
  args: ['TURN'],
  options: {},
  examples: ['npx sallyport turn cancel "$turn"'],
  run: async ({ args: [id] }, io) => {
    const api = await openApi(io);
    const turn = await api.call<TurnAnswer>('POST', path`/v1/turns/${id}/cancel`);
    io.out(turn.state === 'cancelled' ? `turn ${id} is cancelled` : `turn ${id} had ended before`);
    return EXIT.done;
  },
});

export const turnEnd = defineCommand({
  name: 'turn end',
  summary: 'ends a turn whose work is done',
  args: ['TURN'],
  options: {
    lease: {
      type: 'string',
      value: 'EPOCH',
      help: 'only if this lease still holds; the current one if left out',
    },
  },
  examples: ['npx sallyport turn end "$turn"'],
  run: async ({ args: [id], options }, io) => {
    if (options.lease !== undefined && !/^\d{1,10}$/.test(options.lease))
      throw wrong(turnEnd, '--lease is not a number');
    const api = await openApi(io);
    const leaseEpoch =
      options.lease === undefined
        ? (await api.call<TurnAnswer>('GET', path`/v1/turns/${id}`)).leaseEpoch
        : Number(options.lease);
    await api.call('POST', path`/v1/turns/${id}/end`, { leaseEpoch });
    io.out(`turn ${id} has ended`);
    return EXIT.done;
  },
});
