/** Cancels a keyed call of the run's session: on whatever gate it runs, and whichever of its runs had started it. */
import type { ServerResponse } from 'node:http';
import { formatRefusal, send } from './answer.ts';
import type { RunToken } from './calls.ts';
import { cancelCrossing } from './crossing/cancel.ts';
import type { Gate } from './gate.ts';
import { isKey } from './read/idempotency-key.ts';

export interface CancelArrival {
  readonly token: RunToken;
  /** The call's key as the path has it. */
  readonly key: string;
  readonly source: string;
  readonly userAgent: string;
}

/** Never rejects. */
export async function handleCancel(
  gate: Gate,
  arrival: CancelArrival,
  response: ServerResponse,
): Promise<void> {
  const { token, key, source } = arrival;
  const found = isKey(key)
    ? await cancelCrossing(gate.crossings, gate.crosser, token, key).catch((error: unknown) => {
        gate.record.failure(error);
        return 'facts_unavailable' as const;
      })
    : 'key_malformed';
  if (typeof found === 'string') {
    gate.record.refusal(found, source);
    send(response, formatRefusal('own', found, arrival));
    return;
  }
  const body = JSON.stringify({ ok: true, result: found });
  send(response, { status: 200, headers: { 'content-type': 'application/json' }, body });
}
