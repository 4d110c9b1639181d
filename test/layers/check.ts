/**
 * The layer check: every code file of the tree against the rules of `rules.ts`, and the graph of their imports for
 * circles. It reads files only; it never imports what it checks.
 */
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { findCircles } from './circles.ts';
import { judgeArrow, judgeSource, mayCompute } from './rules.ts';
import { parseSource, type Source } from './source.ts';

export interface Checked {
  readonly files: number;
  /** One line each: where, what, and what would be right. */
  readonly violations: readonly string[];
}

/** Checks the tree below `root`. Rejects only if it cannot be read. */
export async function checkTree(root: string): Promise<Checked> {
  const sources = await readSources(root);
  const violations = sources.flatMap((source) => [
    ...judgeSource(source),
    ...source.imports.flatMap(({ specifier, line }) =>
      judgeImport(root, source.path, specifier).map((what) => `${source.path}:${line}: ${what}`),
    ),
  ]);
  for (const circle of findCircles(importGraph(sources))) {
    violations.push(`${circle[0]}: imports itself: ${[...circle, circle[0]].join(' -> ')}`);
  }
  if (sources.length === 0) violations.push(`${root}: no code was found, so nothing was checked`);
  return { files: sources.length, violations };
}

async function readSources(root: string): Promise<Source[]> {
  const paths = await readdir(root, { withFileTypes: true }).then((entries) =>
    Promise.all(
      entries
        .filter((entry) => entry.isDirectory() && !FOREIGN.test(entry.name))
        .map(({ name }) => codeBelow(root, name)),
    ),
  );
  const sorted = paths.flat().sort();
  return Promise.all(sorted.map(async (path) => parseSource(path, await readFile(join(root, path), 'utf8'))));
}

async function codeBelow(root: string, folder: string): Promise<string[]> {
  const entries = await readdir(join(root, folder), { withFileTypes: true });
  const below = await Promise.all(
    entries.map((entry) => {
      const path = posix.join(folder, entry.name);
      if (entry.isDirectory()) return FOREIGN.test(entry.name) ? [] : codeBelow(root, path);
      return CODE.test(entry.name) ? [path] : [];
    }),
  );
  return below.flat();
}

function judgeImport(root: string, from: string, specifier: string | null): string[] {
  if (specifier === null) return mayCompute(from) ? [] : ['imports what only a run can tell: name the file'];
  const target = targetOf(from, specifier);
  if (target === null)
    return /^[#/]|^file:|^sallyport/.test(specifier) ? [`imports ${specifier}: use ./`] : [];
  if (!existsSync(join(root, target))) return [`imports ${target}, which is not there`];
  return judgeArrow(from, target);
}

/** The path that an import of ours names; `null` for a package. */
function targetOf(from: string, specifier: string): string | null {
  return specifier.startsWith('.') ? posix.join(posix.dirname(from), specifier) : null;
}

/** Type-only imports count: a circle of types is as hard to read as any other. */
function importGraph(sources: readonly Source[]): ReadonlyMap<string, readonly string[]> {
  return new Map(
    sources.map(({ path, imports }) => [
      path,
      imports.flatMap(({ specifier }) => targetOf(path, specifier ?? '') ?? []),
    ]),
  );
}

const CODE = /\.[cm]?[jt]sx?$/;
/** What is not ours, or is made from what is. */
const FOREIGN = /^(\..*|node_modules|dist|coverage)$/;
