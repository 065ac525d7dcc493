/** What would end a value, or would not be read as itself: spaces, quotes, parentheses, a backslash that takes what follows. */
const special = /[\s\u0085"'()]|\\$|^$/;

const escapes: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** The value of a field as it is typed: in quotes unless it is read the same without. */
export function quoteValue(value: string): string {
  return special.test(value) ? quote(value) : value;
}

/** The text in quotes. JSON has other escapes than queries, in which most of those are errors. */
export function quote(text: string): string {
  return `"${text.replace(/[\\"\n\r\t]/g, (character) => escapes[character] ?? `\\${character}`)}"`;
}
