#!/usr/bin/env node
/**
 * The command `sallyport`: runs cli/main.ts on a Node that can. `--program FILE` as the first argument runs another
 * TypeScript file of the project instead. Installs nothing: a command that is typed a hundred times must not.
 */
import { existsSync } from 'node:fs';
import module from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { pinnedNode } from './install.mjs';
import { launch, NODE_FLAGS } from './launch.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const node = pinnedNode(root);
const other = process.argv[2] === '--program' ? process.argv.splice(2, 2)[1] : undefined;
const program = other === undefined ? join(root, 'cli', 'main.ts') : resolve(root, other);

if (!existsSync(node)) {
  console.error('sallyport: nothing is installed here yet: run `npm start` (or `npm ci`) first');
  process.exit(1);
}
if (Number.parseInt(process.versions.node, 10) < 24) launch(node, [...NODE_FLAGS, self(), ...typed()]);
else {
  if (wantsFlags()) process.execve(process.execPath, [process.execPath, ...NODE_FLAGS, self(), ...typed()]);
  // What Node made of our TypeScript is kept beside the packages: a later start takes a third of the time and 24 MiB
  // less, since the compiler need not be loaded. A folder that cannot be written to only leaves it as it was.
  module.enableCompileCache(join(root, 'node_modules', '.cache', 'sallyport'));
  await import(pathToFileURL(program).href);
}

/** A service that an operator starts has them; one with a channel to its starter would lose that by it. */
function wantsFlags() {
  const isService = other === undefined && ['core', 'egress', 'gates'].includes(process.argv[2] ?? '');
  const given = [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].join(' ');
  return isService && !process.connected && !given.includes('semi-space') && 'execve' in process;
}

function self() {
  return fileURLToPath(import.meta.url);
}

function typed() {
  const given = process.argv.slice(2);
  return other === undefined ? given : ['--program', program, ...given];
}
