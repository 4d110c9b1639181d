/** Whose connection it is: rows as kernels print them, and the kernel of this machine with processes of two users. */
import { spawn } from 'node:child_process';
import { connect, createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { findOwnUserProof, findUser, shareReads } from '../../pod/peer-user.ts';

const HEAD =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n';
const ENDS = { peer: { address: '127.0.0.1', port: 54_000 }, own: { address: '127.0.0.1', port: 8_080 } };
const row = (local: string, remote: string, { state = '01', user = 1000, inode = 77 } = {}): string =>
  `   3: ${local} ${remote} ${state} 00000000:00000000 00:00000000 00000000 ${String(user).padStart(5)}        0 ${inode} 1 0000000000000000 20 4 30 10 -1\n`;
const [PEER, OWN] = ['0100007F:D2F0', '0100007F:1F90'];
const MAPPED = '0000000000000000FFFF0000';

describe('a row of the kernel', () => {
  it.each([
    ['of the peer’s socket', HEAD + row(PEER, OWN), 1000],
    ['of an IPv6 socket that speaks IPv4', HEAD + row(MAPPED + PEER, MAPPED + OWN), 1000],
    ['behind others', HEAD + row(OWN, PEER, { user: 5 }) + row(PEER, OWN, { user: 0 }), 0],
    ['of our own end only', HEAD + row(OWN, PEER), null],
    ['of a socket that waits for its end', HEAD + row(PEER, OWN, { state: '06', user: 0 }), null],
    ['of a socket that is half closed', HEAD + row(PEER, OWN, { state: '04', user: 0, inode: 0 }), null],
    ['of a socket that no process holds', HEAD + row(PEER, OWN, { user: 0, inode: 0 }), null],
    ['of another port', HEAD + row('0100007F:D2F1', OWN), null],
    ['cut off', HEAD + row(PEER, OWN).slice(0, 60), null],
    ['that is not there', '', null],
  ])('%s', (_name, table, user) => {
    expect(findUser(table, ENDS, 'LE')).toBe(user);
  });

  it('is printed in the other order by a machine of the other order', () => {
    expect(findUser(HEAD + row('7F000001:D2F0', '7F000001:1F90'), ENDS, 'BE')).toBe(1000);
    expect(findUser(HEAD + row(PEER, OWN), ENDS, 'BE')).toBe(null);
  });
});

describe('a reading', () => {
  it('is shared by all who asked before it began, and never runs beside another', async () => {
    const begun: PromiseWithResolvers<string>[] = [];
    const read = shareReads(() => {
      const reading = Promise.withResolvers<string>();
      begun.push(reading);
      return reading.promise;
    });
    const first = [read(), read()];
    await expect.poll(() => begun.length).toBe(1);
    const second = [read(), read(), read()];
    await new Promise((resolve) => setImmediate(resolve));
    expect(begun).toHaveLength(1);
    begun[0]?.resolve('one');
    expect(await Promise.all(first)).toEqual(['one', 'one']);
    await expect.poll(() => begun.length).toBe(2);
    begun[1]?.reject(new Error('gone'));
    for (const each of second) await expect(each).rejects.toThrow('gone');
    const third = read();
    await expect.poll(() => begun.length).toBe(3);
    begun[2]?.resolve('three');
    expect(await third).toBe('three');
  });
});

describe.skipIf(process.platform !== 'linux')('the kernel of this machine', () => {
  const open: (() => void)[] = [];
  afterEach(() => {
    for (const close of open.splice(0)) close();
  });

  /** What is proved of a program's connection. */
  async function judge(enter: (port: number) => void): Promise<boolean> {
    const prove = await findOwnUserProof();
    if (prove === null) throw new Error('this system proves nothing');
    return new Promise((resolve) => {
      const server = createServer((socket: Socket) => {
        open.push(() => socket.destroy());
        socket.on('error', () => {});
        void prove(socket).then(resolve);
      });
      open.push(() => server.close());
      server.listen(0, '127.0.0.1', () => {
        const address = server.address();
        enter(typeof address === 'object' && address !== null ? address.port : 0);
      });
    });
  }

  it.each(['127.0.0.1', '::ffff:127.0.0.1'])('proves our own, by %s', async (host) => {
    const proved = await judge((port) => {
      const socket = connect({ host, port });
      open.push(() => socket.destroy());
    });
    expect(proved).toBe(true);
  });

  describe.skipIf(process.getuid?.() !== 0)('with another user', () => {
    const NOBODY = 65_534;
    const connectAsNobody = (port: number): void => {
      const script = `exec 3<>/dev/tcp/127.0.0.1/${port}; read -r -t 20 _ <&3`;
      const child = spawn('bash', ['-c', script], { uid: NOBODY, gid: NOBODY, stdio: 'ignore' });
      open.push(() => child.kill('SIGKILL'));
    };

    it('does not prove theirs', async () => {
      expect(await judge(connectAsNobody)).toBe(false);
    });

    it('proves theirs to themselves', async () => {
      const ask = vi.spyOn(process, 'getuid').mockReturnValue(NOBODY);
      open.push(() => ask.mockRestore());
      expect(await judge(connectAsNobody)).toBe(true);
    });
  });
});
