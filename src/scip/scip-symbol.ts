import { createHash } from "node:crypto";

/** Whether a symbol exists only in its document. */
export function isLocalSymbol(symbol: string): boolean {
  return symbol.startsWith("local ");
}

/**
 * The part of a symbol that names its package, as in `scip-typescript npm left-pad 1.3.0 `, up to the space before the descriptors; ""
 * for a local symbol, and for one whose package has no name.
 */
export function symbolPackage(symbol: string): string {
  if (isLocalSymbol(symbol)) return "";
  // Scheme, manager, name and version, each with a space behind it; two spaces are one of the text.
  const ends: number[] = [];
  for (let at = symbol.indexOf(" "); at >= 0 && ends.length < 4; at = symbol.indexOf(" ", at + 1)) {
    if (symbol.charAt(at + 1) === " ") at++;
    else ends.push(at);
  }
  const [, managerEnd, nameEnd, versionEnd] = ends;
  if (managerEnd === undefined || nameEnd === undefined || versionEnd === undefined) return "";
  const name = symbol.slice(managerEnd + 1, nameEnd);
  return name === "" || name === "." ? "" : symbol.slice(0, versionEnd + 1);
}

/** A package as a number. Two may have the same one, so whether a symbol is there is looked up. */
export function packageNumber(name: string): number {
  return createHash("sha256").update(name).digest().readUIntBE(0, 6);
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
