/** Reads what `--since` takes: how long ago, or a moment. */

/** `null` where it is neither. A moment without a zone is UTC. */
export function parseSince(text: string, now: Date): Date | null {
  const [, amount, unit] = /^(\d{1,6})(s|m|h|d)$/.exec(text) ?? [];
  const unitMs = UNIT_MS[unit ?? ''];
  if (amount && unitMs) return new Date(now.getTime() - Number(amount) * unitMs);
  if (!MOMENT.test(text)) return null;
  const zoned = /(Z|[+-]\d\d:\d\d)$/.test(text) || !text.includes('T') ? text : `${text}Z`;
  const moment = new Date(zoned);
  return Number.isNaN(moment.getTime()) ? null : moment;
}

const MOMENT = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?)?$/;
const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
