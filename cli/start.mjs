/** `npm start`: installs what is missing, then runs `sallyport up` on the pinned Node, for as long as npm is there. */
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { endWithNpm } from './end-with-npm.mjs';
import { ensureInstalled } from './install.mjs';
import { launch, NODE_FLAGS } from './launch.mjs';

// Looked at first: npm may be killed while it installs.
const npm = process.ppid;
const root = dirname(dirname(fileURLToPath(import.meta.url)));
try {
  const up = launch(ensureInstalled({ root }), [
    ...NODE_FLAGS,
    join(root, 'cli', 'sallyport.mjs'),
    'up',
    ...process.argv.slice(2),
  ]);
  if (process.env['npm_lifecycle_event'] === 'start') endWithNpm(up, npm);
} catch (error) {
  console.error(`sallyport: ${error.message}`);
  process.exit(1);
}
