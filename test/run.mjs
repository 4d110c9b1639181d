/**
 * `npm test`: installs what is missing, then runs vitest on the pinned Node. `--long` runs test/long instead of the
 * rest; all other arguments go to vitest.
 */
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureInstalled } from '../cli/install.mjs';
import { launch } from '../cli/launch.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const given = process.argv.slice(2);
const mode = given.includes('--long') ? ['--mode', 'long'] : [];
const rest = given.filter((argument) => argument !== '--long');
try {
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  launch(ensureInstalled({ root }), [vitest, 'run', '--root', root, ...mode, ...rest]);
} catch (error) {
  console.error(`sallyport: ${error.message}`);
  process.exit(1);
}
