/** Whether a web page may speak here: only one that our own host served. A program sends no `Origin`. */
export function judgeOrigin(origin: string | undefined, names: ReadonlySet<string>): 'origin_refused' | null {
  if (origin === undefined) return null;
  const url = URL.parse(origin);
  return url && names.has(url.hostname.toLowerCase()) ? null : 'origin_refused';
}
