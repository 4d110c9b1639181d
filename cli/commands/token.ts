/** `token egress`: an egress token by hand, for debugging. Pods get theirs by joining. */
import { readConfig } from '../../core-lite/config.ts';
import { formatAddress } from '../../core-lite/service.ts';
import { openApi, path } from '../api.ts';
import { defineCommand, type Io, wrong } from '../command.ts';
import { EXIT } from '../command-error.ts';
import { findEgress } from '../home.ts';
import { formatMoment } from '../table.ts';

export const tokenEgress = defineCommand({
  name: 'token egress',
  summary: 'prints an egress token for an environment, for debugging',
  args: [],
  options: {
    env: { type: 'string', value: 'NAME', help: 'the environment; required' },
    'proxy-url': { type: 'boolean', help: 'prints it as the URL that HTTPS_PROXY takes' },
  },
  notes: [
    'Standard output is the token and nothing else; whoever has it can use what the environment may reach, for 15 minutes. That one was made is an admin event.',
  ],
  examples: [
    'export HTTPS_PROXY=$(npx sallyport token egress --env demo --proxy-url)',
    'npx sallyport token egress --env demo',
  ],
  run: async ({ options }, io) => {
    if (!options.env) throw wrong(tokenEgress, 'token egress needs --env');
    const api = await openApi(io);
    const at = path`/v1/environments/${options.env}/egress-tokens`;
    const { token, expiresAt } = await api.call<{ token: string; expiresAt: string }>('POST', at);
    io.err(`for debugging: speaks for ${options.env} until ${formatMoment(expiresAt)}; keep it to yourself`);
    io.out(options['proxy-url'] ? `http://sallyport:${token}@${await findProxy(io)}` : token);
    return EXIT.done;
  },
});

async function findProxy(io: Io): Promise<string> {
  return formatAddress(await findEgress(readConfig(io.variables), io.variables));
}
