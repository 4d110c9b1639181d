/**
 * Installs what is missing before anything of ours runs: plain JavaScript, Node 20, nothing installed. Quiet when
 * there is nothing to do, and then without the network. Must never import what has to be installed first.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/**
 * Runs `npm ci` if the lock file has changed since the last time, then checks the pinned Node.
 * @param {{ root: string }} options the project's folder
 * @returns {string} the program file of the pinned Node
 * @throws {InstallError} one line that says what is wrong and what to do
 */
export function ensureInstalled({ root }) {
  if (!isComplete(root)) {
    whileLocked(root, () => {
      if (!isComplete(root)) install(root);
    });
  }
  const fault = nodeFault(root);
  if (fault !== undefined)
    throw new InstallError(`${fault}: run \`npm ci\` here with install scripts allowed`);
  return pinnedNode(root);
}

/** Its message is one line for the user. */
class InstallError extends Error {}

/** @returns {string} where the pinned Node is, if it is installed */
export function pinnedNode(root) {
  return join(root, 'node_modules', 'node', 'bin', 'node');
}

function isComplete(root) {
  return isInstalled(root) && nodeFault(root) === undefined;
}

function isInstalled(root) {
  const wanted = read(join(root, 'package-lock.json'));
  if (wanted === undefined)
    throw new InstallError('package-lock.json is missing: take a whole clone of the project');
  const stamp = join(root, 'node_modules', STAMP);
  if (read(stamp) === digest(wanted)) return true;
  if (!holdsAll(wanted, read(join(root, 'node_modules', '.package-lock.json')))) return false;
  writeStamp(stamp, wanted);
  return true;
}

/** Whether what npm noted in node_modules is what the lock file asks for: the user may have run npm himself. */
function holdsAll(wantedText, presentText) {
  if (presentText === undefined) return false;
  const wanted = JSON.parse(wantedText).packages;
  const present = JSON.parse(presentText).packages;
  return Object.entries(wanted).every(([path, { version, integrity, optional }]) => {
    if (path === '') return true;
    const found = present[path];
    if (found === undefined) return optional === true;
    return found.version === version && found.integrity === integrity;
  });
}

function install(root) {
  console.error('sallyport: installing what is missing (npm ci) …');
  const [program, ...before] = npmCommand();
  // Named, since NODE_ENV=production or the user's npm settings leave out what the pinned Node and PostgreSQL are.
  const options = [
    'ci',
    '--include=dev',
    '--include=optional',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ];
  const { status, signal, error, stderr } = spawnSync(program, [...before, ...options], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 64 * 1024 * 1024,
  });
  if (error !== undefined)
    throw new InstallError(`npm could not be run (${error.message}): install npm 10 or newer`);
  if (signal !== null) throw new InstallError(`npm ci was ended by ${signal}: start again`);
  if (status !== 0)
    throw new InstallError(`npm ci failed (${complaint(stderr)}): run \`npm ci\` here to see all of it`);
  writeStamp(join(root, 'node_modules', STAMP), readFileSync(join(root, 'package-lock.json'), 'utf8'));
}

/** The npm that runs us, or the one on the PATH. */
function npmCommand() {
  const running = process.env.npm_execpath;
  return running !== undefined && basename(running).startsWith('npm') ? [process.execPath, running] : ['npm'];
}

function complaint(stderr) {
  const lines = stderr.split('\n').map((line) => line.replace(/^npm (error|ERR!) ?/, '').trim());
  const said = lines.filter(
    (line) => line !== '' && !/^(errno|syscall|A complete log of this run)\b/.test(line),
  );
  return said.slice(0, 2).join(', ') || 'it does not say why';
}

function nodeFault(root) {
  const wanted = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).devDependencies.node;
  const { error, status, stdout } = spawnSync(pinnedNode(root), ['--version'], { encoding: 'utf8' });
  if (error !== undefined)
    return `Node ${wanted}, which this project pins, could not be installed (${error.code})`;
  if (status !== 0) return `Node ${wanted}, which this project pins, does not run on this machine`;
  if (stdout.trim() !== `v${wanted}`)
    return `this project pins Node ${wanted}, but ${stdout.trim()} is installed`;
  return undefined;
}

/** Two installations at once would delete each other's files: the second waits for the first. */
function whileLocked(root, action) {
  const folder = join(root, '.sallyport');
  const lock = join(folder, 'installing');
  for (let waitedMs = 0; !tryLock(folder, lock); waitedMs += POLL_MS) {
    if (waitedMs === 0) console.error('sallyport: another installation runs here, waiting for it …');
    if (waitedMs > PATIENCE_MS) throw new InstallError(`another installation does not end: remove ${lock}`);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, POLL_MS);
  }
  try {
    action();
  } finally {
    rmSync(lock, { force: true });
    removeIfEmpty(folder);
  }
}

function tryLock(folder, lock) {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(lock, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    // The one before us takes the empty folder away as it ends.
    if (error.code === 'ENOENT') return false;
    if (error.code !== 'EEXIST') throw new InstallError(`nothing can be installed here: ${error.message}`);
  }
  const owner = read(lock);
  // A file without its pid yet is a lock of this very moment.
  if (owner !== undefined && owner !== '' && !isAlive(Number(owner))) rmSync(lock, { force: true });
  return false;
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

function removeIfEmpty(folder) {
  try {
    rmdirSync(folder);
  } catch {
    // It is the product's own folder too, and may hold its things.
  }
}

function writeStamp(stamp, lockText) {
  try {
    writeFileSync(stamp, digest(lockText));
  } catch {
    // Another user's installation can be used all the same; it is only looked at in full each time.
  }
}

function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

function digest(text) {
  return createHash('sha256').update(text).digest('hex');
}

const STAMP = '.sallyport-lock';
const POLL_MS = 200;
const PATIENCE_MS = 10 * 60 * 1000;
