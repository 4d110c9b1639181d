/**
 * `sallyport up`, which is `npm start`: the whole product from one command, and its end. This file knows the order;
 * every step is a file of its own. Whatever was started is stopped again, in the opposite order, however it ends.
 */
import { once } from 'node:events';
import type { Config } from '../../core-lite/config.ts';
import { describeFailure } from '../command-error.ts';
import { type Addresses, checkPorts, chooseAddresses, publishAddresses } from './addresses.ts';
import { type Demo, startDemo } from './demo.ts';
import { ensureDemoEnvironment } from './demo-environment.ts';
import { ensureDemoCredential } from './demo-vault.ts';
import { type HomeFiles, prepareHome } from './home.ts';
import { openHomeDatabase } from './home-database.ts';
import { type Installation, prepareInstallation } from './installation.ts';
import { endOrphans, rememberServices } from './orphans.ts';
import { describeReady } from './print.ts';
import { untilReady } from './ready.ts';
import { listenForStop } from './stop-signals.ts';
import { type RunningService, startService } from './supervise.ts';

export interface UpOptions {
  /** Whether the demo's origin runs and its environment is there. */
  readonly demo: boolean;
  /** Aborted when the end is asked for by other means, or was before this began: loading takes a moment. */
  readonly signal?: AbortSignal;
}

/**
 * Runs until a signal ends it (0), or until something cannot be started or dies (1, after one line on standard error
 * that says what). Never rejects. The signals and the broken pipes of this process are its own meanwhile.
 */
export async function runUp(config: Config, options: UpOptions): Promise<number> {
  const stop = listenForStop(options.signal);
  const run: Run = { config, options, signal: stop.first, parts: [] };
  const failure = await runUntilEnd(run).catch((error: unknown) =>
    isCalledOff(error, stop.first) ? null : describeFailure(error).line,
  );
  if (failure !== null) console.error(failure);
  const closed = await closeAll(run.parts, stop.second);
  if (failure === null && closed) console.log('sallyport: stopped');
  stop.close();
  return failure === null && closed ? 0 : 1;
}

/** Something that runs or stands as long as we do. */
interface Part {
  close(hurry: AbortSignal): Promise<void>;
}

interface Run {
  readonly config: Config;
  readonly options: UpOptions;
  /** Aborted when the user wants the end. */
  readonly signal: AbortSignal;
  /** In the order in which they were started. */
  readonly parts: Part[];
}

/** Resolves to the line that says what ended it, or to `null` when a signal did. */
async function runUntilEnd(run: Run): Promise<string | null> {
  const { signal, parts, options } = run;
  const startedAt = performance.now();
  signal.throwIfAborted();
  const files = await prepareHome(run.config.home);
  await endOrphans(files.services, run.config.drain, signal);
  if (!files.known) say(`making an installation in ${files.home}`);
  const database = await openHomeDatabase(run.config, files.home, { signal, log: say });
  parts.push(database);
  const installation = await prepareInstallation(run.config, database.url, files, say);
  signal.throwIfAborted();
  const addresses = await chooseAddresses(run.config);
  await checkPorts(addresses);
  const demo = options.demo ? await startDemo(run.config, files) : null;
  if (demo) parts.push(demo);
  const services = startServices(run, files, installation, addresses, demo);
  parts.push(await rememberServices(files.services, services));
  const ended = Promise.race([database.ended, ...services.map((service) => service.ended)]);
  const failed = await readyOrEnded(addresses, files, ended, signal);
  if (failed !== null) return failed;
  if (demo) {
    await ensureDemoCredential(addresses.core, installation.adminKey, demo);
    await ensureDemoEnvironment(addresses.core, installation.adminKey, demo, say);
  }
  parts.push(await publishAddresses(files.addresses, addresses, demo?.environment ?? {}));
  const seconds = (performance.now() - startedAt) / 1_000;
  console.log(describeReady({ files, addresses, demo, seconds }).join('\n'));
  return Promise.race([asked(signal), ended]);
}

/** Resolves to `null` when all is ready, or to the line that says why it will not be. */
async function readyOrEnded(
  addresses: Addresses,
  files: HomeFiles,
  ended: Promise<string>,
  signal: AbortSignal,
): Promise<string | null> {
  const decided = new AbortController();
  try {
    const either = AbortSignal.any([signal, decided.signal]);
    return await Promise.race([untilReady(addresses, files, either), ended]);
  } finally {
    decided.abort();
  }
}

function startServices(
  { parts, config }: Run,
  files: HomeFiles,
  { environment }: Installation,
  addresses: Addresses,
  demo: Demo | null,
): readonly RunningService[] {
  const variables = {
    ...environment,
    ...addresses.environment,
    SALLYPORT_HOME: files.home,
    NODE_COMPILE_CACHE: files.compileCache,
  };
  const plans = [
    { name: 'core', logFile: files.coreLog, environment: variables },
    { name: 'egress', logFile: files.egressLog, environment: { ...variables, ...demo?.environment } },
    { name: 'gates', logFile: files.gatesLog, environment: variables },
  ] as const;
  return plans.map((plan) => {
    const service = startService({ ...plan, drainMs: config.drain });
    parts.push(service);
    return service;
  });
}

/** Closes what was started last first; whether all of it closed. */
async function closeAll(parts: Part[], hurry: AbortSignal): Promise<boolean> {
  let closed = true;
  for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
    try {
      await part.close(hurry);
    } catch (error) {
      closed = false;
      console.error(describeFailure(error).line);
    }
  }
  return closed;
}

/** Whether a start ended because the user called it off. */
function isCalledOff(error: unknown, signal: AbortSignal): boolean {
  return signal.aborted && error instanceof Error && error.name === 'AbortError';
}

async function asked(signal: AbortSignal): Promise<null> {
  if (!signal.aborted) await once(signal, 'abort');
  return null;
}

function say(line: string): void {
  console.log(`sallyport: ${line}`);
}
