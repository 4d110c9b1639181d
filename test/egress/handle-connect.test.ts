/** What only a script can show of the way: a change that falls between two of its stages. The rest is in test/way. */
import { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { parseTarget } from '../../core-lite/network/target.ts';
import { VerifiedToken } from '../../core-lite/tokens/verify.ts';
import type { Arrival, Gate } from '../../egress/gate.ts';
import { handleConnect } from '../../egress/handle-connect.ts';

const TOKEN = new VerifiedToken('egress', { sub: 'env_1', hep: 0, pod: 'none' }, 'tok_1', 'key-1', 2e9);

function arrive(): Arrival {
  const target = parseTarget('a.test:443');
  if (!target) throw new TypeError('no target');
  return { socket: new Socket(), head: Buffer.alloc(0), target, credential: 'Bearer a', source: '127.0.0.1' };
}

/** A gate that has only what the way needs until it is decided; everything else would fail the test. */
function makeGate(kidsBefore: readonly string[], kidsAfter: readonly string[], log: string[]): Gate {
  const readings = [kidsBefore, kidsAfter];
  const keysOf = (kids: readonly string[]) => ({ byKid: new Map(kids.map((kid) => [kid, null])) });
  return {
    now: () => new Date(),
    facts: {
      keys: async () => keysOf(readings.shift() ?? []),
      environment: async () => null,
      doubt: () => false,
    },
    authenticator: { authenticate: async () => TOKEN },
    registry: { add: () => log.push('registered'), remove: () => log.push('removed') },
    record: { count: (_source: string, _environment: string, reason: string) => log.push(reason) },
  } as unknown as Gate;
}

describe('a key that is revoked while its token is verified', () => {
  it('refuses the connection, which was not registered when it was told', async () => {
    const log: string[] = [];
    const refused = await handleConnect(makeGate(['key-1'], [], log), arrive());
    expect(refused).toEqual({ reason: 'token_untrusted', connectionId: null });
    expect(log).toEqual(['registered', 'token_untrusted', 'removed']);
  });

  it('is asked for before the environment is', async () => {
    const log: string[] = [];
    const refused = await handleConnect(makeGate(['key-1'], ['key-1'], log), arrive());
    expect(refused?.reason).toBe('environment_gone');
  });
});
