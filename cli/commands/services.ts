/** `up`, `core`, `egress`: what runs until it is stopped. Loaded only when it is asked for: the rest stays quick. */
import { readConfig } from '../../core-lite/config.ts';
import { defineCommand } from '../command.ts';
import { EXIT } from '../command-error.ts';
import { serveUntilStopped } from '../serve.ts';

export const up = defineCommand({
  name: 'up',
  summary: 'starts everything here: database, core, egress, gates and a demo (`npm start`)',
  args: [],
  options: { 'no-demo': { type: 'boolean', help: 'leaves the demo environment and its origin out' } },
  notes: ['Ctrl-C stops it all; a second start finds everything again.'],
  examples: ['npx sallyport up'],
  run: async ({ options }, io) => {
    const { runUp } = await import('../up/up.ts');
    const status = await runUp(readConfig(io.variables), {
      demo: options['no-demo'] !== true,
      signal: io.signal,
    });
    return status === 0 ? EXIT.done : EXIT.failed;
  },
});

export const core = defineCommand({
  name: 'core',
  summary: 'runs core, the admin API, in the foreground',
  args: [],
  options: {},
  notes: [
    'It listens on SALLYPORT_CORE_LISTEN and logs JSON lines to standard output. SIGTERM and Ctrl-C end it in order; a second one ends it at once.',
  ],
  examples: [
    'DATABASE_URL=postgres://… SALLYPORT_MASTER_KEY_FILE=/etc/sallyport/master.key npx sallyport core',
  ],
  run: async (_, io) => {
    const { startCore } = await import('../../core-lite/main.ts');
    return await serveUntilStopped('core', startCore, io);
  },
});

export const egress = defineCommand({
  name: 'egress',
  summary: 'runs egress, the proxy, in the foreground',
  args: [],
  options: {},
  notes: [
    'It listens on SALLYPORT_EGRESS_LISTEN and logs JSON lines to standard output. SIGTERM and Ctrl-C end it in order; a second one ends it at once.',
  ],
  examples: ['DATABASE_URL=postgres://… SALLYPORT_EGRESS_LISTEN=0.0.0.0:4200 npx sallyport egress'],
  run: async (_, io) => {
    const { startEgress } = await import('../../egress/main.ts');
    return await serveUntilStopped('egress', startEgress, io);
  },
});
