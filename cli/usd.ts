/** US dollars as people read them: never in powers of ten, and what is more than nothing never as nothing. */

/** Every digit that the ledger has: ten behind the point. */
export function formatExactUsd(amount: number): string {
  return `${amount < 0 ? '-' : ''}$${Math.abs(amount)
    .toFixed(10)
    .replace(/\.?0+$/, '')}`;
}

/** Without zeros at the end. @param places how many digits behind the point at most */
export function formatRoundUsd(amount: number, places: number): string {
  const [sign, size] = [amount < 0 ? '-' : '', Math.abs(amount)];
  const rounded = size.toFixed(places);
  if (size > 0 && Number(rounded) === 0) return `${sign}<$${(10 ** -places).toFixed(places)}`;
  return `${sign}$${rounded.replace(/\.?0+$/, '')}`;
}
