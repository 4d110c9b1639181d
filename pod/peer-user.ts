/**
 * Whose process stands at the other end of a connection over loopback, as the kernel of Linux has it: the row of the
 * peer's own socket in /proc/net. What cannot be proved is a no, never a yes: only a socket that is open now and is
 * held by a process counts, since the kernel shows user 0 for every other.
 */
import { access, constants, readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { endianness } from 'node:os';

/** Whether the process at the other end belongs to our own user. Never rejects. */
export type ProveOwnUser = (socket: Socket) => Promise<boolean>;

/** How it is proved on this machine, or `null` where it cannot be. */
export async function findOwnUserProof(): Promise<ProveOwnUser | null> {
  const user = process.getuid?.();
  const shown = await access(TABLES[1], constants.R_OK).then(
    () => true,
    () => false,
  );
  if (user === undefined || !shown) return null;
  const tables = TABLES.map((table) => shareReads(() => readFile(table, 'latin1').catch(() => '')));
  return async (socket) => {
    const ends = endsOf(socket);
    return ends !== null && (await lookUpUser(tables, ends)) === user;
  };
}

async function lookUpUser(tables: readonly Read[], ends: Ends): Promise<number | null> {
  // A table that changes while it is read may leave a row out.
  for (let reading = 0; reading < READINGS; reading += 1) {
    for (const read of tables) {
      const user = findUser(await read(), ends);
      if (user !== null) return user;
    }
  }
  return null;
}

type Read = () => Promise<string>;

/**
 * One reading for all who ask meanwhile, begun after they asked, and never two at once: a table may be megabytes, and
 * anybody on the machine may connect as often as they like.
 */
export function shareReads(read: Read): Read {
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<string> | null = null;
  return () => {
    next ??= running.then(() => {
      next = null;
      const reading = read();
      running = reading.catch(() => {});
      return reading;
    });
    return next;
  };
}

/** Both ends as the peer's kernel row has them. */
export interface Ends {
  readonly peer: End;
  readonly own: End;
}

interface End {
  /** IPv4. */
  readonly address: string;
  readonly port: number;
}

/** The user of the peer's socket, or `null` where no row is one. @param table /proc/net/tcp or tcp6 */
export function findUser(table: string, { peer, own }: Ends, order = endianness()): number | null {
  // A program may have made an IPv6 socket and connected it to an IPv4 address, as Java does.
  for (const prefix of ['', order === 'LE' ? MAPPED_LITTLE : MAPPED_BIG]) {
    const write = ({ address, port }: End): string => prefix + formatEnd(address, port, order);
    const start = table.indexOf(` ${write(peer)} ${write(own)} ${ESTABLISHED} `);
    if (start < 0) continue;
    const row = table.slice(start, table.indexOf('\n', start)).trim().split(/ +/);
    const [user, inode] = [row[USER_COLUMN], row[INODE_COLUMN]];
    return user !== undefined && /^\d+$/.test(user) && inode !== undefined && inode !== '0'
      ? Number(user)
      : null;
  }
  return null;
}

function endsOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): Ends | null {
  if (!(remoteAddress && remotePort && localAddress && localPort)) return null;
  const peer = { address: remoteAddress, port: remotePort };
  return { peer, own: { address: localAddress, port: localPort } };
}

/** As the kernel prints a 32-bit word of the network's bytes in its own order, and the port in hexadecimal. */
function formatEnd(address: string, port: number, order: 'LE' | 'BE'): string {
  const bytes = Buffer.from(address.split('.').map(Number));
  const word = order === 'LE' ? bytes.reverse() : bytes;
  return `${word.toString('hex')}:${port.toString(16).padStart(4, '0')}`.toUpperCase();
}

/** The smaller one first, which has Java's. Where a machine has no IPv6, there is only the other. */
const TABLES = ['/proc/net/tcp6', '/proc/net/tcp'] as const;
const READINGS = 3;
const ESTABLISHED = '01';
/** Behind the row's number: local, remote, state, queues, timer, retransmits, user, timeout, inode. */
const USER_COLUMN = 6;
const INODE_COLUMN = 8;
/** `::ffff:`, in words of the kernel's order. */
const MAPPED_LITTLE = '0000000000000000FFFF0000';
const MAPPED_BIG = '00000000000000000000FFFF';
