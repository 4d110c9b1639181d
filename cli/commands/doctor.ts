/** `doctor`: looks at everything an installation needs, one thing after the other, and says what to do about it. */
import { type Config, readConfig } from '../../core-lite/config.ts';
import { openDatabase } from '../../core-lite/database/pool.ts';
import { CHECKS, type Check, type Patient, Skipped } from '../checks.ts';
import { defineCommand, type Io } from '../command.ts';
import { describeFailure, EXIT } from '../command-error.ts';
import { findDatabaseUrl } from '../home.ts';
import { checkSecretSources } from '../secret-sources.ts';
import { formatTable } from '../table.ts';

/** One line of the answer; what `--json` prints. */
interface Finding {
  readonly check: string;
  readonly state: 'ok' | 'wrong' | 'skipped';
  /** What was found, and what to do where it is wrong. */
  readonly detail: string;
}

export const doctor = defineCommand({
  name: 'doctor',
  summary: 'checks settings, database, keys, core, egress, gates, names and clock, and says what is wrong',
  args: [],
  options: { json: { type: 'boolean', help: 'prints JSON' } },
  notes: [
    'It sees what the settings of this process name: run it where a service runs, as the service runs. It changes nothing; what it sends to egress and the gates, without a token, is counted as a refusal. Exit status 1 if anything is wrong.',
  ],
  examples: ['npx sallyport doctor'],
  run: async ({ options }, io) => {
    const findings = await examine(io);
    if (options.json) io.out(JSON.stringify(findings, null, 2));
    else for (const line of formatTable(findings.map(findingRow))) io.out(line);
    return findings.some(({ state }) => state === 'wrong') ? EXIT.failed : EXIT.done;
  },
});

async function examine(io: Io): Promise<readonly Finding[]> {
  let config: Config;
  try {
    config = readConfig(io.variables);
  } catch (error) {
    // Without settings there is nothing that the other checks could look at.
    return [judge('settings', error)];
  }
  const findings: Finding[] = [{ check: 'settings', state: 'ok', detail: 'can all be read' }];
  const url = await findDatabaseUrl(config);
  const database = url && openDatabase(url, null, { max: 1 });
  try {
    for (const [name, check] of [...CHECKS, SECRET_SOURCES]) {
      const lost = findings.some((each) => each.check === 'database' && each.state === 'wrong');
      const usable = lost ? UNREACHABLE : (database ?? UNNAMED);
      findings.push(await run(name, check, { config, database: usable, io }));
    }
  } finally {
    await database?.close();
  }
  return findings;
}

async function run(name: string, check: Check, patient: Patient): Promise<Finding> {
  try {
    const found = await check(patient);
    return found instanceof Skipped
      ? { check: name, state: 'skipped', detail: found.why }
      : { check: name, state: 'ok', detail: found };
  } catch (error) {
    patient.io.signal.throwIfAborted();
    return judge(name, error);
  }
}

function judge(check: string, error: unknown): Finding {
  return { check, state: 'wrong', detail: describeFailure(error).line.replace(/^sallyport: /, '') };
}

function findingRow({ check, state, detail }: Finding): string[] {
  return [state, check, detail];
}

const UNNAMED = new Skipped('DATABASE_URL is not set, and no database of `npm start` runs here');
const UNREACHABLE = new Skipped('the database cannot be reached');
const SECRET_SOURCES = ['secret sources', checkSecretSources] as const;
