/**
 * `npm run check:layers [FOLDER]`: holds the arrows between the layers and what only some files may do. One line a
 * violation and exit 1, or a summary and exit 0. Finding nothing to check is a failure: a check that sees no file
 * would otherwise say that all is well.
 */
import { fileURLToPath } from 'node:url';
import { checkTree } from './check.ts';

const root = process.argv[2] ?? fileURLToPath(new URL('../..', import.meta.url));
const { files, violations } = await checkTree(root);
for (const violation of violations) console.error(violation);
const found = violations.length === 0 ? 'no violations' : `${violations.length} violations`;
console.log(`layers: ${files} files, ${found}`);
process.exitCode = violations.length === 0 ? 0 : 1;
