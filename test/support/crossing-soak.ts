/**
 * Two gates as real processes on one database under keyed calls, of an HTTP tool and of an MCP server's, whose callers die and send again, while gates are killed
 * and paused and the tool resets. The tool counts its own effects: what it says is the truth that answers are held to.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type CrossedGates, callMcpTool, callTool, MCP_PATH } from './crossed-gates.ts';
import type { Reply, TestRun } from './gates.ts';
import { type Program, startProgram } from './process.ts';
import type { Behaviour } from './provider.ts';
import { Random } from './random.ts';

export interface SoakGate {
  program: Program;
  port: number;
  replica: string;
}

interface Told {
  readonly run: TestRun;
  readonly key: string;
  readonly n: number;
  readonly text: string;
}

export class CrossingSoak {
  readonly stand: CrossedGates;
  readonly gates: SoakGate[] = [];
  readonly #random = new Random(SEED);
  readonly #effects = new Map<number, number>();

  constructor(stand: CrossedGates) {
    this.stand = stand;
    stand.tool.behave = this.#behave;
  }

  /** Starts the two gates. */
  async start(): Promise<void> {
    for (let place = 0; place < 2; place += 1) this.gates.push(await this.#startGate());
  }

  /** Kills a gate as a crash would, and starts another in its place. */
  async kill(place: number): Promise<string> {
    const gate = this.#at(place);
    const { replica } = gate;
    await gate.program.end('SIGKILL');
    Object.assign(gate, await this.#startGate());
    return replica;
  }

  pause(place: number): string {
    process.kill(this.#at(place).program.pid, 'SIGSTOP');
    return this.#at(place).replica;
  }

  wake(place: number): void {
    process.kill(this.#at(place).program.pid, 'SIGCONT');
  }

  /** Asks for `count` keyed calls until each is answered for good. @returns what their callers were told */
  async ask(count: number, workers: number, onAnswer: (answered: number) => void): Promise<readonly Told[]> {
    const runs = await Promise.all(Array.from({ length: RUNS }, () => this.stand.run()));
    const told: Told[] = [];
    let next = 0;
    const work = async (): Promise<void> => {
      while (next < count) {
        const n = next;
        next += 1;
        const run = runs[n % RUNS] as TestRun;
        const key = `soak-${n}`;
        told.push({ run, key, n, text: (await this.#obtain(run, key, n)).text });
        onAnswer(told.length);
      }
    };
    await Promise.all(Array.from({ length: workers }, work));
    return told;
  }

  /** How the calls stand against what the tool counted; every list must be empty. */
  async judge(told: readonly Told[]): Promise<Record<string, readonly string[]>> {
    const statuses = await this.#statuses(told);
    const faults = { twice: [], unlike: [], gone: [], untrue: [] } as Record<string, string[]>;
    for (const { run, key, n, text } of told) {
      const effects = this.#effects.get(n) ?? 0;
      const status = statuses.get(`${run.session} ${key}`);
      if (effects > 1) faults['twice']?.push(key);
      if (status !== 'completed' && status !== 'uncertain') faults['gone']?.push(`${key} ${status}`);
      if (status === 'completed' && effects !== 1) faults['untrue']?.push(key);
      for (const { port } of this.gates) {
        const again = await this.#askAgain(port, run, key, n);
        if (again.text !== text) faults['unlike']?.push(`${key} ${text} ${again.status} ${again.text}`);
      }
    }
    return faults;
  }

  /** How many calls stand as each status. */
  async count(told: readonly Told[]): Promise<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const status of (await this.#statuses(told)).values()) counts[status] = (counts[status] ?? 0) + 1;
    return counts;
  }

  async close(): Promise<void> {
    for (const { program } of this.gates) await program.end('SIGKILL');
  }

  async #obtain(run: TestRun, key: string, n: number): Promise<Reply> {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const { port } = this.#at(this.#random.below(2));
      // A third of the callers die early; a paused gate would keep the others for ever.
      const leave = AbortSignal.timeout(this.#random.below(3) === 0 ? this.#random.below(150) : 3_000);
      const reply = await callEither(port, run, key, { n, leave }).catch(() => null);
      if (reply?.whole && reply.status === 200 && !UNKEPT.test(reply.text)) return reply;
      if (reply?.whole && reply.status >= 400 && reply.status < 429) throw new Error(`${key}: ${reply.text}`);
      await sleep(20);
    }
    throw new Error(`${key} was never answered`);
  }

  /** A gate that was paused serves again with its next heartbeat. */
  async #askAgain(port: number, run: TestRun, key: string, n: number): Promise<Reply> {
    for (let tries = 0; ; tries += 1) {
      const reply = await callEither(port, run, key, { n });
      if (reply.status !== 503 || tries === MAX_TRIES) return reply;
      await sleep(20);
    }
  }

  async #statuses(told: readonly Told[]): Promise<ReadonlyMap<string, string>> {
    const rows = await this.stand.gates.owner.query<{ place: string; status: string }>(
      `SELECT session_id || ' ' || key AS place, CASE state WHEN 'done' THEN status ELSE state END AS status
         FROM crossings WHERE session_id = ANY ($1)`,
      [told.map(({ run }) => run.session)],
    );
    return new Map(rows.map(({ place, status }) => [place, status]));
  }

  #at(place: number): SoakGate {
    return this.gates[place] as SoakGate;
  }

  /** Starting one under load may take longer than a test waits for a word: then another is started. */
  async #startGate(triesLeft = 4): Promise<SoakGate> {
    const program = startProgram(['cli/sallyport.mjs', 'gates'], this.stand.gates.world.settings);
    try {
      const [line] = await program.said(/\{[^\n]*"gates are ready"[^\n]*/);
      const { address, replica } = JSON.parse(line);
      return { program, port: address.port, replica };
    } catch (error) {
      await program.end('SIGKILL');
      if (triesLeft === 0) throw error;
      return this.#startGate(triesLeft - 1);
    }
  }

  /** Counts first: an effect is one, whatever becomes of its answer. */
  readonly #behave: Behaviour = (asked, response, socket) => {
    const message = JSON.parse(asked.body.toString());
    response.setHeader('content-type', 'application/json');
    const say = (result: object): unknown =>
      response.end(
        JSON.stringify({ jsonrpc: '2.0', id: message.id, result: { resultType: 'complete', ...result } }),
      );
    const mcp = asked.path === MCP_PATH;
    if (mcp && message.method !== 'tools/call') {
      say(TALK[message.method] ?? {});
      return;
    }
    const { n } = mcp ? message.params.arguments : message;
    this.#effects.set(n, (this.#effects.get(n) ?? 0) + 1);
    if (n % 11 === 0) {
      socket.destroy();
      return;
    }
    const answer = (): void => {
      const effect = JSON.stringify({ n, effect: this.#effects.get(n) });
      if (mcp) say({ content: [{ type: 'text', text: effect }] });
      else response.end(effect);
    };
    setTimeout(answer, n % 7 === 0 ? 1_000 : this.#random.below(100));
  };
}

/** Every other call is of an MCP server's tool. */
function callEither(...[port, run, key, ask]: Parameters<typeof callMcpTool>): Promise<Reply> {
  return ((ask.n ?? 0) % 2 === 0 ? callTool : callMcpTool)(port, run, key, ask);
}

/** What the MCP server answers beside calls. */
const TALK: Readonly<Record<string, object>> = {
  'server/discover': { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } },
  'tools/list': { tools: [{ name: 'post', inputSchema: { type: 'object' } }] },
};
const SEED = 20_261_130;
const RUNS = 4;
const MAX_TRIES = 500;
/** Nothing reached the tool: the same key is to be sent again. */
const UNKEPT = /"code":"(?:http\.unreachable|tool\.unavailable|tool\.interrupted)"/;
