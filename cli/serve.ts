/** Runs one service in the foreground until the command is asked to end. */
import { type Config, readConfig } from '../core-lite/config.ts';
import { type Logger, openLog } from '../core-lite/log.ts';
import type { Service } from '../core-lite/service.ts';
import type { Io } from './command.ts';
import { EXIT, type ExitStatus } from './command-error.ts';

/** Logs to standard output. Rejects with the Fault that keeps the service from starting. */
export async function serveUntilStopped(
  name: string,
  start: (config: Config, log: Logger) => Promise<Service>,
  io: Io,
): Promise<ExitStatus> {
  const config = readConfig(io.variables);
  const log = openLog(name, config.logLevel, io.log);
  const service = await start(config, log);
  await untilAborted(io.signal);
  log.info('stopping');
  await service.close();
  return EXIT.done;
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    // The listener alone does not keep the process alive; the service's own sockets do.
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
