/** The query of a target, edited by parameter: whatever is not edited keeps its bytes. */
import { namesParameter } from '../places.ts';

/**
 * Each parameter as it is written, in order, or what is put in its place; `null` takes it out.
 * @param edit gets the name as it is written, and the whole parameter
 */
export function editParameters(
  target: string,
  edit: (name: string, parameter: string) => string | null,
): string {
  const at = target.indexOf('?');
  if (at < 0) return target;
  // Some origins separate at semicolons too; the separators stand at the odd places.
  const pieces = target.slice(at + 1).split(/([&;])/);
  let query: string | null = null;
  for (let i = 0; i < pieces.length; i += 2) {
    const parameter = pieces[i] as string;
    const edited = edit(parameter.split('=', 1)[0] as string, parameter);
    if (edited !== null) query = query === null ? edited : query + pieces[i - 1] + edited;
  }
  return `${target.slice(0, at)}?${query ?? ''}`;
}

/**
 * Sets a parameter, once, in place of all that an origin may take for it.
 * @returns `null` where the target can have no query, or has what an origin may cut off
 */
export function setParameter(target: string, name: string, value: string): string | null {
  if (!target.startsWith('/') || target.includes('#')) return null;
  const kept = editParameters(target, (written, parameter) =>
    namesParameter(written, name) ? null : parameter,
  );
  const joint = kept.includes('?') ? (kept.endsWith('?') ? '' : '&') : '?';
  return `${kept}${joint}${encodeParameter(name)}=${encodeParameter(value)}`;
}

/** Percent-encodes all but the unreserved characters of RFC 3986 2.3, in capitals. @param text ASCII */
export function encodeParameter(text: string): string {
  return text.replace(
    /[^A-Za-z0-9._~-]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
}
