/**
 * One run from its tokens to its end: relay, files and variables, the workload, and everything taken away again
 * whatever happened. It isolates nothing: the workload has our user id, and can read what we hold if it wants to.
 */
import { type Ended, startWorkload } from './command.ts';
import { type Trust, writeRunFiles } from './files.ts';
import type { Address } from './forward.ts';
import { findOwnUserProof } from './peer-user.ts';
import { type Relay, startRelay } from './relay.ts';
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
  readonly trust: Trust;
  readonly egress: Address;
  readonly gates: Address;
  /** Where the run's folder is made. */
  readonly folder: string;
  readonly inTerminal: boolean;
  /** Java finds no proxy in this run: the system cannot prove whose its clients are. */
  readonly onNoJava: () => void;
  /** Hands over the signals that we are sent from now on; gives back how to stop that. */
  readonly takeSignals: (take: (name: NodeJS.Signals) => void) => () => void;
}

/** Resolves when the workload has ended. Rejects where its relay or files could not be made. Leaves nothing behind. */
export async function run(options: Run): Promise<Ended> {
  const { inherited, sentinels, plain, egress, gates } = options;
  const secret = makeRunSecret();
  const closers: (() => void | Promise<void>)[] = [];
  try {
    const files = await writeRunFiles(options.folder, options.trust);
    closers.push(files.close);
    const tokens = new HeldTokens(options);
    closers.push(() => tokens.close());
    const relay = await startRelay({
      secret,
      egress,
      gates,
      egressToken: () => tokens.egressToken,
      runToken: () => tokens.runToken,
      proveOwnUser: await findOwnUserProof(),
    });
    closers.push(relay.close);
    if (relay.ownUserPort === null) options.onNoJava();
    const facts = { ...namePlaces(relay, secret), files, sentinels, plain };
    const variables = makeVariables(inherited, facts);
    const workload = startWorkload({ ...options, variables });
    closers.push(options.takeSignals(workload.signal));
    return await workload.ended;
  } finally {
    for (const close of closers.toReversed()) await close();
  }
}

function namePlaces({ proxyPort, modelPort, ownUserPort }: Relay, secret: string) {
  return {
    proxyUrl: `http://sallyport:${secret}@${LOOPBACK}:${proxyPort}`,
    javaProxy: ownUserPort === null ? null : { host: LOOPBACK, port: ownUserPort },
    models: { url: `http://${LOOPBACK}:${modelPort}`, key: secret },
  };
}

const LOOPBACK = '127.0.0.1';
