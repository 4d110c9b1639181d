/** `npm start`: installs what is missing, then runs `sallyport up` on the pinned Node. */
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureInstalled } from './install.mjs';
import { launch } from './launch.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
try {
  launch(ensureInstalled({ root }), [join(root, 'cli', 'main.ts'), 'up', ...process.argv.slice(2)]);
} catch (error) {
  console.error(`sallyport: ${error.message}`);
  process.exit(1);
}
