/** What a scanner of TLS finds at the proxy in TLS and inside an interception: nothing older than 1.2, nothing weak. */
import { execFile, spawnSync } from 'node:child_process';
import { createServer, type Server } from 'node:net';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BOUND, Stand } from '../way/probes/stand.ts';

let stand: Stand;
let inside: Server;
beforeAll(async () => {
  stand = await Stand.start();
  await stand.renew('scan');
  // The scanner speaks to no proxy: each of its connections becomes one inside an interception.
  inside = createServer((socket) => {
    socket.on('error', () => {});
    socket.pause();
    stand.tunnelTo(stand.targets.bound).then(
      (tunnel) => {
        const far = tunnel.detach();
        far.on('error', () => {});
        far.once('close', () => socket.destroy());
        socket.once('close', () => far.destroy());
        socket.pipe(far);
        far.pipe(socket);
      },
      () => socket.destroy(),
    );
  });
  await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  await stand?.close();
  await new Promise((resolve) => inside?.close(resolve));
});

const isInstalled = spawnSync('sslscan', ['--version']).status === 0;
if (!isInstalled) console.warn('sslscan is not installed: nothing scans our TLS');

function portOf(where: string): number {
  if (where === 'the proxy in TLS') return stand.inside.gate.egress.tlsAddress.port;
  const address = inside.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

describe.skipIf(!isInstalled).each(['the proxy in TLS', 'an interception'])('%s', (where) => {
  it('shows a scanner TLS 1.2 and 1.3 with AEAD alone, and no known weakness', async () => {
    const name = where === 'an interception' ? BOUND : 'localhost';
    const { stdout } = await promisify(execFile)(
      'sslscan',
      ['--xml=-', '--no-colour', `--sni-name=${name}`, `127.0.0.1:${portOf(where)}`],
      { maxBuffer: 1 << 24 },
    );
    const all = (pattern: RegExp) => [...stdout.matchAll(pattern)].map((match) => match[1] ?? '');
    expect(all(/<protocol type="\w+" version="([\d.]+)" enabled="1"/g)).toEqual(['1.2', '1.3']);
    const ciphers = all(/<cipher status="\w+" sslversion="[^"]+" bits="\d+" cipher="([^"]+)"/g);
    expect(ciphers.length).toBeGreaterThan(2);
    expect(ciphers.filter((cipher) => !/GCM|POLY1305|CCM/.test(cipher))).toEqual([]);
    expect(stdout).toMatch(/<renegotiation supported="0"/);
    expect(stdout).not.toMatch(/<compression supported="1"/);
    expect(stdout).not.toMatch(/<heartbleed [^>]*vulnerable="1"/);
    const strengths = all(/<cipher status="\w+" sslversion="[^"]+" bits="(\d+)"/g).map(Number);
    expect(Math.min(...strengths)).toBeGreaterThanOrEqual(128);
  });
});
