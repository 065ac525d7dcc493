/** Whether a symbol exists only in its document. */
export function isLocalSymbol(symbol: string): boolean {
  return symbol.startsWith("local ");
}

/** What ends a descriptor, by the last character of the symbol. */
const suffixes = new Set(["/", "#", ".", ":", "!", "]", ")"]);

/**
 * The name that the last descriptor of a symbol has, as in `scip-typescript npm pkg 1.0 src/a.ts/Box#open().`, which is called
 * `open`; "" if it has none, such as a local symbol.
 */
export function symbolName(symbol: string): string {
  if (isLocalSymbol(symbol)) return "";
  let end = symbol.length;
  // Of a method, the disambiguator is left out: `open(+1).`
  if (symbol.endsWith(").")) end = symbol.lastIndexOf("(");
  else if (suffixes.has(symbol.charAt(end - 1))) end--;
  if (end <= 0) return "";
  if (symbol.charAt(end - 1) === "`") {
    const start = symbol.lastIndexOf("`", end - 2);
    return start < 0 ? "" : symbol.slice(start + 1, end - 1);
  }
  let start = end;
  while (start > 0 && isNameCharacter(symbol.charCodeAt(start - 1))) start--;
  return symbol.slice(start, end);
}

/** Letters, digits and `_+-$`, of which an identifier consists that is not in backticks. */
function isNameCharacter(code: number): boolean {
  return (
    (code >= 0x61 && code <= 0x7a) ||
    (code >= 0x41 && code <= 0x5a) ||
    (code >= 0x30 && code <= 0x39) ||
    code === 0x5f ||
    code === 0x2b ||
    code === 0x2d ||
    code === 0x24
  );
}
