/**
 * Model calls whose bodies are of 1 KB, 76 KB and 20 MiB, streamed and not: straight to the bench kit's origin, through
 * its bare Node gateway and through the gates, in turn in each round. What a call takes, and what CPU of whoever stands
 * between.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { freePort } from '../../core-lite/database/embedded-server.ts';
import { MODEL, type ModelTarget, startFloorTarget, startGatesTarget } from './bench-model.ts';
import type { KitRun } from './kit-run.ts';

const SIZES = [
  ['1 KB', 1024, 300],
  ['76 KB', 76 * 1024, 150],
  ['20 MiB', 20 * 1024 * 1024, 3],
] as const;
const ROUNDS = 5;
const EVENTS = 50;

/** @returns 0; rejects where a call is not answered */
export async function runBenchBodies(run: KitRun, dir: string): Promise<number> {
  const kit = join(dir, 'bench');
  const port = await freePort();
  await startOrigin(run, kit, port);
  const targets: readonly ModelTarget[] = [
    { name: 'direct', base: `http://127.0.0.1:${port}`, token: 'bench-token', pid: 0 },
    await startFloorTarget(run, kit, port),
    await startGatesTarget(run, port),
  ];
  console.info('| body | answer | target | p50 | CPU a call | memory above what it began with |');
  console.info('| --- | --- | --- | --- | --- | --- |');
  for (const streamed of [false, true])
    for (const [name, bytes, calls] of SIZES) await compare(targets, { name, bytes, calls, streamed });
  return 0;
}

interface Figure {
  readonly name: string;
  readonly bytes: number;
  readonly calls: number;
  readonly streamed: boolean;
}

async function compare(targets: readonly ModelTarget[], figure: Figure): Promise<void> {
  const body = makeBody(figure);
  const taken = new Map(targets.map(({ name }) => [name, { times: [] as number[], cpuMs: 0 }]));
  // The first round warms and counts for nothing.
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const target of targets) {
      const before = cpuMsOf(target.pid);
      const times = [];
      for (let i = 0; i < figure.calls; i += 1) times.push(await call(target, body));
      const sum = taken.get(target.name);
      if (round === 0 || !sum) continue;
      sum.times.push(...times);
      sum.cpuMs += cpuMsOf(target.pid) - before;
    }
  }
  for (const { name, pid } of targets) {
    const { times = [], cpuMs = 0 } = taken.get(name) ?? {};
    const p50 = times.toSorted((a, b) => a - b)[times.length >> 1] ?? Number.NaN;
    const cpu = pid === 0 ? '' : `${(cpuMs / times.length).toFixed(2)} ms`;
    const answer = figure.streamed ? `${EVENTS} events` : 'JSON';
    console.info(
      `| ${figure.name} | ${answer} | ${name} | ${p50.toFixed(2)} ms | ${cpu} | ${memoryOf(pid)} |`,
    );
  }
}

function makeBody({ bytes, streamed }: Figure): Buffer {
  const asked = { model: MODEL, stream: streamed, max_tokens: EVENTS, seed: 0 };
  const form = (content: string) => JSON.stringify({ ...asked, messages: [{ role: 'user', content }] });
  return Buffer.from(form('lorem ipsum '.repeat(Math.ceil(bytes / 12)).slice(0, bytes - form('').length)));
}

/** @returns milliseconds to the last byte */
function call({ base, token }: ModelTarget, body: Buffer): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const startedAt = performance.now();
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'content-length': body.length,
  };
  const asking = request(`${base}/v1/chat/completions`, { method: 'POST', headers }, (answer) => {
    if (answer.statusCode !== 200) reject(new Error(`${base} answered ${answer.statusCode}`));
    answer.resume().once('error', reject);
    answer.once('end', () => resolve(performance.now() - startedAt));
  });
  asking.once('error', reject).end(body);
  return promise;
}

async function startOrigin(run: KitRun, kit: string, port: number): Promise<void> {
  await run.start({
    name: 'origin',
    args: [join(kit, 'origin.mjs'), '--http', String(port), '--https', String(await freePort())],
    variables: { BENCH_WORK: run.folder, PATH: process.execPath.replace(/\/[^/]*$/, ':/usr/bin:/bin') },
    isReady: async () => (await fetch(`http://127.0.0.1:${port}/ready`)).ok,
  });
}

/** User and system time of a process; 0 for none. */
function cpuMsOf(pid: number): number {
  if (pid === 0) return 0;
  const [, user = 0, system = 0] =
    /^.*\) (?:\S+ ){11}(\d+) (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, 'latin1'))?.map(Number) ?? [];
  return ((user + system) * 1000) / TICKS;
}

const first = new Map<number, number>();

/** Resident, above what it was when it was first asked for. */
function memoryOf(pid: number): string {
  if (pid === 0) return '';
  const kib = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]);
  if (!first.has(pid)) first.set(pid, kib);
  return `${Math.round((kib - (first.get(pid) ?? kib)) / 1024)} MiB`;
}

const TICKS = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
