import { describe, expect, it } from 'vitest';
import { Allow } from '../../../core-lite/decision.ts';
import { type Address, parseAddress } from '../../../core-lite/network/address.ts';
import { dial } from '../../../egress/act/dial.ts';
import { echo, freePort, startOrigin } from '../../support/origin.ts';

const PROOF = new Allow('allowlisted');

function addressesOf(texts: readonly string[]): Address[] {
  return texts.map((text) => parseAddress(text)).filter((address) => address !== null);
}

describe('a dial', () => {
  it('takes the first address that answers, in the order of the answer', async () => {
    const origin = await startOrigin({ behave: echo });
    const dialled = await dial(PROOF, addressesOf(['127.0.0.1']), origin.port, new AbortController().signal);
    expect(dialled?.address.text).toBe('127.0.0.1');
    expect(dialled?.socket.allowHalfOpen).toBe(true);
    dialled?.socket.destroy();
    await expect.poll(() => origin.open).toBe(0);
    expect(origin.reached).toBe(1);
    await origin.close();
  });

  it.runIf(process.platform === 'linux')('goes on at once when an address refuses', async () => {
    const origin = await startOrigin({ host: '127.0.0.3' });
    const startedAt = performance.now();
    const addresses = addressesOf(['127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4']);
    const dialled = await dial(PROOF, addresses, origin.port, new AbortController().signal);
    expect(dialled?.address.text).toBe('127.0.0.3');
    expect(performance.now() - startedAt).toBeLessThan(250);
    dialled?.socket.destroy();
    await origin.close();
  });

  it.runIf(process.platform === 'linux')('takes IPv6 and IPv4 in turns, IPv6 first', async () => {
    const origin = await startOrigin({ host: '127.0.0.2' });
    // Nothing listens at ::1, nor at 127.0.0.3, which comes before 127.0.0.2 in the answer only.
    const addresses = addressesOf(['127.0.0.2', '127.0.0.3', '::1', '::2']);
    const dialled = await dial(PROOF, addresses, origin.port, new AbortController().signal);
    expect(dialled?.address.text).toBe('127.0.0.2');
    dialled?.socket.destroy();
    await origin.close();
  });

  it('gives none when all are dead, and none for none', async () => {
    const port = await freePort();
    const { signal } = new AbortController();
    expect(await dial(PROOF, addressesOf(['127.0.0.1', '::1']), port, signal)).toBeNull();
    expect(await dial(PROOF, [], port, signal)).toBeNull();
  });

  it('tries sixteen addresses at most', async () => {
    const origin = await startOrigin({ behave: echo });
    const dead = Array.from({ length: 16 }, (_, i) => `127.1.0.${i + 1}`);
    const { signal } = new AbortController();
    const dialled = await dial(PROOF, addressesOf([...dead, '127.0.0.1']), origin.port, signal);
    expect(dialled).toBeNull();
    expect(origin.reached).toBe(0);
    await origin.close();
  });

  it('dials nothing when it was stopped before, and lets go when it is stopped meanwhile', async () => {
    const origin = await startOrigin({ behave: echo });
    const addresses = addressesOf(['127.0.0.1']);
    expect(await dial(PROOF, addresses, origin.port, AbortSignal.abort())).toBeNull();
    expect(origin.reached).toBe(0);
    const stop = new AbortController();
    const dialling = dial(PROOF, addresses, origin.port, stop.signal);
    stop.abort();
    expect(await dialling).toBeNull();
    await expect.poll(() => origin.open).toBe(0);
    await origin.close();
  });
});
