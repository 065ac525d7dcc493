import type { ShownSymbolKind } from "../model/symbol-kind.js";
import { isLocalSymbol } from "./scip-symbol.js";

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
