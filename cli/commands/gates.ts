/** `gates`: model and tool calls, until it is stopped. Loaded only when it is asked for: the rest stays quick. */
import { defineCommand } from '../command.ts';
import { serveUntilStopped } from '../serve.ts';

export const gates = defineCommand({
  name: 'gates',
  summary: 'runs the gates, for model and tool calls, in the foreground',
  args: [],
  options: {},
  notes: [
    'It listens on SALLYPORT_GATES_LISTEN and logs JSON lines to standard output. SIGTERM and Ctrl-C end it in order; a second one ends it at once.',
  ],
  examples: [
    'DATABASE_URL=postgres://… SALLYPORT_GATES_LISTEN=0.0.0.0:4100 SALLYPORT_GATES_HOSTS=gates.internal npx sallyport gates',
  ],
  run: async (_, io) => {
    const { startGates } = await import('../../gates/main.ts');
    return await serveUntilStopped('gates', startGates, io);
  },
});
