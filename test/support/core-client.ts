/** Calls core's API as any caller may, and hands back whatever it answers: refusals are what these tests look at. */
import type { World } from './world.ts';

/** An object of an answer, as JSON has it. */
export type Row = Readonly<Record<string, unknown>>;

export interface CoreAnswer {
  readonly status: number;
  /** The answer, where it is one object; without a field else. */
  readonly body: Row;
  /** The answer, where it is a list; empty else. */
  readonly rows: readonly Row[];
}

export type Send = (method: string, path: string, body?: unknown) => Promise<CoreAnswer>;

/** @param bearer an admin key or a token; the world's own key if left out */
export function sendAs(world: World, bearer: string = world.adminKey): Send {
  const { host, port } = world.core.address;
  return async (method, path, body) => {
    const answer = await fetch(`http://${host}:${port}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${bearer}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    const json = (text === '' ? null : JSON.parse(text)) as Row | readonly Row[] | null;
    const list = Array.isArray(json);
    return { status: answer.status, body: list || !json ? {} : (json as Row), rows: list ? json : [] };
  };
}

/** The code of a refusal, behind its status: `409 run_stale`. */
export function refusal({ status, body }: CoreAnswer): string {
  return `${status} ${(body['error'] as Row | undefined)?.['code']}`;
}
