/** The admin API as a kit calls it: JSON both ways, and an error where the answer is not 2xx. */

/** Rejects unless the answer is 2xx; the type is the caller's word for the route's own schema. */
export type CallApi = <T>(method: string, path: string, body?: unknown) => Promise<T>;

/** @param base core's URL, without a slash at its end */
export function adminApi(base: string, adminKey: string): CallApi {
  return async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const answer = await fetch(base + path, {
      method,
      headers: {
        authorization: `Bearer ${adminKey}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return (text === '' ? null : JSON.parse(text)) as T;
  };
}
