/**
 * `run`: a command that uses secrets and models which it does not have. For development: it isolates nothing and says
 * so. Its exit status is the command's.
 */
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { readConfig } from '../../core-lite/config.ts';
import { formatAddress } from '../../core-lite/service.ts';
import type { ListenAddress } from '../../core-lite/setting-kinds.ts';
import { signalStatus } from '../../pod/command.ts';
import { run as runWorkload } from '../../pod/run.ts';
import { openApi, path } from '../api.ts';
import { defineCommand, type Io, wrong } from '../command.ts';
import { CommandError, describeFailure } from '../command-error.ts';
import { findEgress, findGates } from '../home.ts';
import { type RunTurn, takeTurn, type WantedTurn } from '../run-turn.ts';
import { takeSignals } from '../signals.ts';
import { loadTrust } from '../trust.ts';

export const run = defineCommand({
  name: 'run',
  summary: 'runs a command that uses secrets and models which it does not have',
  args: [],
  rest: 'COMMAND…',
  options: {
    env: { type: 'string', value: 'NAME', help: 'the environment; required without --session or --turn' },
    agent: { type: 'string', value: 'ID', help: 'whose session is opened; cli if left out' },
    session: { type: 'string', value: 'SESSION', help: 'starts the turn in this session, which stays open' },
    turn: { type: 'string', value: 'TURN', help: 'takes the lease of this turn instead of starting one' },
  },
  notes: [
    'The command gets proxy, trust and base URL variables that lead to a relay on loopback, with a secret that is only good for this run; sentinels stand where secrets would. When it ends its turn ends.',
    'It isolates nothing: the command has your user id, your files and your network. In a pod the network policy and another user id do.',
    'Exit status: the command’s; 128 and the signal’s number where one ended it; 127 not found; 126 not executable; 125 where the run could not start.',
  ],
  examples: [
    'npx sallyport run --env demo -- curl https://example.com/',
    'npx sallyport run --session "$session" -- python3 agent.py',
  ],
  run: async ({ options, rest: [command, ...args] }, io) => {
    const { env: environment, agent, session, turn } = options;
    if (command === undefined) throw wrong(run, 'run needs a command behind --');
    if (!environment && !session && !turn) throw wrong(run, 'run needs --env, --session or --turn');
    if (agent && (session || turn))
      throw wrong(run, '--agent is for a session that is opened, not for a given one');
    const signals = new SignalDesk();
    try {
      return await start({ environment, agent, session, turn }, { command, args }, signals, io);
    } catch (error) {
      if (signals.first) return signalStatus(signals.first);
      io.err(describeFailure(error).line);
      return NOT_STARTED;
    } finally {
      signals.close();
    }
  },
});

interface Typed {
  readonly command: string;
  readonly args: readonly string[];
}

async function start(wanted: WantedTurn, typed: Typed, signals: SignalDesk, io: Io): Promise<number> {
  const config = readConfig(io.variables);
  const gates = await findGates(config, io.variables);
  const egress = await findEgress(config, io.variables);
  await Promise.all([reach('the gates', gates, signals.signal), reach('egress', egress, signals.signal)]);
  const api = await openApi({ ...io, signal: signals.signal });
  const trust = await loadTrust({ ...io, signal: signals.signal });
  // What ends the run must get through when everything before it was given up.
  const turn = await takeTurn(await openApi({ ...io, signal: NEVER }), wanted);
  try {
    signals.signal.throwIfAborted();
    const at = path`/v1/environments/${turn.environment}/pod-variables`;
    const { sentinels, plain } = await api.call<PodVariables>('GET', at);
    io.err(
      `sallyport: runs in ${turn.environment}; this isolates nothing: the command could reach past the relay`,
    );
    const ended = await runWorkload({
      ...typed,
      ...turn,
      sentinels,
      plain,
      trust,
      egress,
      gates,
      inherited: io.variables,
      folder: tmpdir(),
      inTerminal: [process.stdin, process.stdout, process.stderr].some((stream) => stream.isTTY === true),
      takeSignals: (take) => signals.passTo(take),
      onStale: () => io.err(`sallyport: ${OVER}`),
      onNoJava: () => io.err(`sallyport: ${NO_JAVA}`),
      onTrouble: () => io.err(`sallyport: ${CORE_LOST}`),
    });
    if (ended.failure) io.err(`sallyport: the command is ${ended.failure}; nothing ran`);
    return ended.status;
  } finally {
    await endTurn(turn, io);
  }
}

interface PodVariables {
  readonly sentinels: readonly string[];
  readonly plain: Readonly<Record<string, string>>;
}

/** The command has ended: its status counts, whatever becomes of the turn. */
async function endTurn(turn: RunTurn, io: Io): Promise<void> {
  await turn
    .close()
    .catch((error: unknown) => io.err(`${describeFailure(error).line}; the turn is left open`));
}

/** Rejects where nothing listens: a command that starts without its relay's other end fails in odder ways. */
async function reach(what: string, address: ListenAddress, signal: AbortSignal): Promise<void> {
  const socket = connect(address);
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve).once('error', reject);
      socket.setTimeout(REACH_LIMIT_MS, () => reject(new Error('slow')));
      signal.addEventListener('abort', () => reject(new Error('given up')), { once: true });
    });
  } catch {
    throw new CommandError(
      `${what} cannot be reached at ${formatAddress(address)}`,
      'start it with `npm start`',
    );
  } finally {
    socket.destroy();
  }
}

/** Signals before, during and after the command: the first gives the start up, then they are the command's. */
class SignalDesk {
  /** The first that came before the command ran. */
  first: NodeJS.Signals | null = null;
  readonly #stop = new AbortController();
  readonly #giveBack: () => void;
  #take: (name: NodeJS.Signals) => void = (name) => {
    this.first ??= name;
    this.#stop.abort();
  };

  constructor() {
    this.#giveBack = takeSignals((name) => this.#take(name));
  }

  /** Aborted by a signal before the command runs. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  passTo(take: (name: NodeJS.Signals) => void): () => void {
    this.#take = take;
    // The command has ended, and what is left takes moments: it is not to be cut short.
    return () => {
      this.#take = () => {};
    };
  }

  close(): void {
    this.#giveBack();
  }
}

const NOT_STARTED = 125;
const NEVER = new AbortController().signal;
const REACH_LIMIT_MS = 5_000;
const OVER =
  'the run is over: its turn was cancelled or ended, or its lease was taken; what the command asks for is refused';
const NO_JAVA =
  'Java finds no proxy in this run: it shows no password, and this system does not prove whose a connection is';
const CORE_LOST = 'core has not answered for a while; what the command asks for is refused until it does';
