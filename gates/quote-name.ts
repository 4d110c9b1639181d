/** How a name that the caller chose stands in an answer: it is any text, and must not grow or garble what we say. */
export function quoteName(name: string): string {
  // Cut first: no more of it is read than is shown.
  return `"${name.slice(0, MAX_CHARS).replace(/[^ -~]/g, '?')}"`;
}

const MAX_CHARS = 128;
