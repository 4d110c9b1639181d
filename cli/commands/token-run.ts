/** `token run`: the tokens of a turn by hand, for debugging. Runs get theirs with the lease. */
import { openApi, path } from '../api.ts';
import { defineCommand, wrong } from '../command.ts';
import { CommandError, EXIT } from '../command-error.ts';
import { formatMoment } from '../table.ts';

interface RunTokensAnswer {
  readonly leaseEpoch: number;
  readonly runToken: string;
  readonly runTokenExpiresAt: string;
  readonly egressToken?: string;
  readonly egressTokenExpiresAt?: string;
}

export const tokenRun = defineCommand({
  name: 'token run',
  summary: 'prints a run token of an active turn, for debugging',
  args: [],
  options: {
    turn: { type: 'string', value: 'TURN', help: 'the turn; required' },
    egress: { type: 'boolean', help: 'prints the turn’s egress token instead' },
  },
  notes: [
    'Standard output is the token and nothing else; whoever has it acts as the turn until a lease is taken, the turn is over or 15 minutes have passed. The lease stays with whoever holds it. That a token was made is an admin event.',
  ],
  examples: ['npx sallyport token run --turn "$turn"'],
  run: async ({ options }, io) => {
    const { turn } = options;
    if (!turn) throw wrong(tokenRun, 'token run needs --turn');
    const api = await openApi(io);
    const tokens = await api.call<RunTokensAnswer>('POST', path`/v1/turns/${turn}/run-tokens`);
    const token = options.egress ? tokens.egressToken : tokens.runToken;
    if (token === undefined)
      throw new CommandError(`the session of ${turn} has no environment`, 'open one with --env');
    const until = formatMoment(tokens.runTokenExpiresAt);
    io.err(
      `for debugging: speaks for ${turn}, lease ${tokens.leaseEpoch}, until ${until}; keep it to yourself`,
    );
    io.out(token);
    return EXIT.done;
  },
});
