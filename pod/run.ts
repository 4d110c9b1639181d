/**
 * One run from its tokens to its end: relay, files and variables, the workload, and everything taken away again
 * whatever happened. It isolates nothing: the workload has our user id, and can read what we hold if it wants to.
 */
import { type Ended, startWorkload } from './command.ts';
import { writeRunFiles } from './files.ts';
import type { Address } from './forward.ts';
import { startRelay } from './relay.ts';
import { HeldTokens, type RenewOptions } from './renew.ts';
import { makeRunSecret } from './run-secret.ts';
import { makeVariables, type Variables } from './variables.ts';

export interface Run extends RenewOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** The environment of whoever starts the run. */
  readonly inherited: Variables;
  readonly sentinels: readonly string[];
  readonly plain: Readonly<Record<string, string>>;
  /** Public roots and the egress CA. */
  readonly bundlePem: string;
  readonly egress: Address;
  readonly gates: Address;
  /** Where the run's folder is made. */
  readonly folder: string;
  readonly inTerminal: boolean;
  /** Hands over the signals that we are sent from now on; gives back how to stop that. */
  readonly takeSignals: (take: (name: NodeJS.Signals) => void) => () => void;
}

/** Resolves when the workload has ended. Rejects where its relay or files could not be made. Leaves nothing behind. */
export async function run(options: Run): Promise<Ended> {
  const { inherited, sentinels, plain, egress, gates } = options;
  const secret = makeRunSecret();
  const closers: (() => void | Promise<void>)[] = [];
  try {
    const files = await writeRunFiles(options.folder, options.bundlePem);
    closers.push(files.close);
    const tokens = new HeldTokens(options);
    closers.push(() => tokens.close());
    const relay = await startRelay({
      secret,
      egress,
      gates,
      egressToken: () => tokens.egressToken,
      runToken: () => tokens.runToken,
    });
    closers.push(relay.close);
    const { proxyPort, modelPort } = relay;
    const variables = makeVariables(inherited, { proxyPort, modelPort, secret, files, sentinels, plain });
    const workload = startWorkload({ ...options, variables });
    closers.push(options.takeSignals(workload.signal));
    return await workload.ended;
  } finally {
    for (const close of closers.toReversed()) await close();
  }
}
