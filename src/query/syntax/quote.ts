/** What would end a value, or would not be read as itself: spaces, quotes, parentheses, a backslash that takes what follows. */
const special = /[\s\u0085"'()]|\\$|^$/;

const escapes: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/**
 * The value of a field as it is typed: in quotes unless it is read the same without. JSON has other escapes than
 * queries, in which most of those are errors.
 */
export function quoteValue(value: string): string {
  if (!special.test(value)) return value;
  return `"${value.replace(/[\\"\n\r\t]/g, (character) => escapes[character] ?? `\\${character}`)}"`;
}
