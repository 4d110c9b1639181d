/** The MCP Inspector's command line, as somebody types it: a URL, a header and a method. */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { type Ended, runCommand } from './real-clients.ts';

/**
 * @param words what stands behind the header: `--method tools/list`
 * @param parent holds its home, which is thrown away with it
 */
export function runInspector(
  url: string,
  token: string,
  words: readonly string[],
  parent: string,
): Promise<Ended> {
  const header = `Authorization: Bearer ${token}`;
  const door = ['--cli', url, '--transport', 'http', '--header', header];
  const variables = { PATH: process.env['PATH'] ?? '' };
  return runCommand([process.execPath, LAUNCHER, ...door, ...words], variables, parent);
}

const LAUNCHER = join(
  dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/inspector/package.json')),
  'clients/launcher/build/index.js',
);
