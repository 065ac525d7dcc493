import { createHash } from "node:crypto";
import type { ShownSymbolKind } from "../model/symbol-kind.js";

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

/** The kinds of SCIP that results name otherwise, by their number. */
const shownKinds: ReadonlyMap<number, ShownSymbolKind> = new Map<number, ShownSymbolKind>([
  ...among("METHOD", [26, 66, 67, 68, 69, 70, 71, 72, 74, 76, 80, 18, 45]),
  ...among("ARRAY", [1]),
  ...among("FIELD", [15, 77, 79]),
  ...among("BOOLEAN", [6]),
  ...among("CLASS", [7, 54, 55, 75, 62, 59]),
  ...among("CONSTANT", [8]),
  ...among("CONSTRUCTOR", [9]),
  ...among("ENUM", [11]),
  ...among("ENUMMEMBER", [12]),
  ...among("EVENT", [13, 78]),
  ...among("FILE", [16]),
  ...among("FUNCTION", [17, 25]),
  ...among("INTERFACE", [21, 42, 53, 56]),
  ...among("KEY", [22]),
  ...among("MODULE", [29]),
  ...among("NAMESPACE", [30]),
  ...among("NULL", [31]),
  ...among("NUMBER", [32]),
  ...among("OBJECT", [33]),
  ...among("OPERATOR", [34]),
  ...among("PACKAGE", [35, 36]),
  ...among("PROPERTY", [41, 81]),
  ...among("STRING", [48]),
  ...among("STRUCT", [49, 28]),
  ...among("TYPEPARAMETER", [58]),
  ...among("VARIABLE", [61, 37, 44, 52, 82]),
]);

function among(kind: ShownSymbolKind, numbers: readonly number[]): [number, ShownSymbolKind][] {
  return numbers.map((number) => [number, kind]);
}

/** Kinds by the word with which a signature begins: scip-typescript writes it there, and nowhere else. */
const signatureKinds: ReadonlyMap<string, ShownSymbolKind> = new Map<string, ShownSymbolKind>([
  ["class", "CLASS"],
  ["interface", "INTERFACE"],
  ["enum", "ENUM"],
  ["type", "CLASS"],
  ["namespace", "NAMESPACE"],
  ["function", "FUNCTION"],
  ["const", "CONSTANT"],
]);

/**
 * The kind of a symbol as results have it: what the index says, otherwise what its signature or the form of the symbol says.
 */
export function shownKind(kind: number, symbol: string, signature = ""): ShownSymbolKind {
  const [word = ""] = signature.split(" ", 1);
  const known = shownKinds.get(kind) ?? signatureKinds.get(word);
  if (known !== undefined) return known;
  if (isLocalSymbol(symbol) || symbol === "") return "VARIABLE";
  if (symbol.endsWith("#")) return "CLASS";
  if (symbol.endsWith("/")) return "MODULE";
  if (symbol.endsWith(").")) return symbol.includes("#") ? "METHOD" : "FUNCTION";
  if (symbol.endsWith("]")) return "TYPEPARAMETER";
  if (symbol.endsWith(".")) return symbol.includes("#") ? "PROPERTY" : "VARIABLE";
  return "UNKNOWN";
}
