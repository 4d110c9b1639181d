/** A header as it was sent: several lines of one name as one, as RFC 9110 5.2 joins them. */
export function readHeader(raw: readonly string[], name: string): string | undefined {
  const values: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    if (raw[i]?.toLowerCase() === name) values.push((raw[i + 1] ?? '').trim());
  }
  return values.length === 0 ? undefined : values.join(', ');
}
