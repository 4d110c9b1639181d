/** One text for each JSON value, however it was written: what tells whether two keyed calls ask the same. */

/** @param value of bounded depth, as JSON.parse gives it */
export function writeCanonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(writeCanonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([name, each]) => `${JSON.stringify(name)}:${writeCanonical(each)}`).join(',')}}`;
}
