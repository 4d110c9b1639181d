/** Text in columns for a terminal. What comes from outside is stripped of control characters first. */

/** The rows as lines, each column as wide as its widest cell; the last column is not padded. */
export function formatTable(rows: readonly (readonly string[])[]): string[] {
  const widths = measureColumns(rows);
  return rows.map((row) => formatRow(row, widths));
}

/** The width of every column, in characters. */
export function measureColumns(rows: readonly (readonly string[])[]): number[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries())
      widths[column] = Math.max(widths[column] ?? 0, printable(cell).length);
  }
  return widths;
}

export function formatRow(row: readonly string[], widths: readonly number[]): string {
  const cells = row.map((cell, column) => printable(cell).padEnd(widths[column] ?? 0));
  return cells.join('  ').trimEnd();
}

/** To the second, in UTC, as `--since` takes it. */
export function formatMoment(moment: string | Date): string {
  return `${new Date(moment).toISOString().slice(0, 19)}Z`;
}

export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${ms}ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)}s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes}m${Math.floor((ms % 60_000) / 1_000)}s`;
  return `${Math.floor(minutes / 60)}h${minutes % 60}m`;
}

function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, '?');
}
