/** How deep JSON is nested, told before it is parsed: a parser's own recursion must not be the limit. */
export function isTooDeep(text: string): boolean {
  let depth = 0;
  for (const [token] of text.matchAll(TEXT_OR_BRACKET)) {
    if (token === '{' || token === '[') depth += 1;
    else if (token === '}' || token === ']') depth -= 1;
    if (depth > MAX_DEPTH) return true;
  }
  return false;
}

export const MAX_DEPTH = 64;
/** A text is taken whole, so that brackets in it are not counted. */
const TEXT_OR_BRACKET = /"(?:[^"\\]|\\.)*"|[{}[\]]/gs;
