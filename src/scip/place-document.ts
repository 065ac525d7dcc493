import { type PlacedOccurrence, requireLimit } from "./index-writer.js";
import { LinePositions } from "./line-positions.js";
import { type ScipDocument, type ScipSymbol, visitDocument } from "./scip-messages.js";
import { isLocalSymbol, symbolName } from "./scip-symbol.js";

/** A document of an index, as far as its occurrences are in the file. */
export interface PlacedDocument {
  readonly occurrences: PlacedOccurrence[];
  readonly symbols: readonly ScipSymbol[];
  /** Occurrences whose range is not in the file. */
  readonly outsideCount: number;
  /** Whether the index can have been made from this text. */
  readonly fits: boolean;
}

/** With fewer names, a document is believed. */
const checkedMin = 10;

/**
 * The least share of names that are in the text where the index has them: aliases and default exports have other names than their
 * symbols. In an index of another commit, a line more or less at the top of a file leaves almost none.
 */
const matchedShareMin = 0.25;

/**
 * Converts the positions in a document to those of the file that it describes. An index of another commit is recognized by its
 * names: what stands in the file at the place of a symbol is, in most places, the name of that symbol.
 */
export function placeDocument(bytes: Uint8Array, { path, encoding }: ScipDocument, text: Buffer): PlacedDocument {
  const lines = new LinePositions(text);
  const occurrences: PlacedOccurrence[] = [];
  const symbols: ScipSymbol[] = [];
  const place = (range: readonly number[]): Omit<PlacedOccurrence, "symbol" | "roles"> | undefined => {
    const [startLine, start, third, fourth] = range;
    const endLine = range.length === 4 ? third : startLine;
    const startCharacter = lines.codePoints(startLine, start, encoding);
    const endCharacter = lines.codePoints(endLine, range.length === 4 ? fourth : third, encoding);
    if (startCharacter < 0 || endCharacter < 0 || endLine < startLine) return undefined;
    if (endLine === startLine && endCharacter < startCharacter) return undefined;
    return { startLine, startCharacter, endLine, endCharacter };
  };
  let outsideCount = 0;
  let checkedCount = 0;
  let matchedCount = 0;
  visitDocument(bytes, JSON.stringify(path.slice(0, 300)), {
    occurrence: (range, symbol, roles) => {
      // Some occurrences only say how a range is coloured.
      if (symbol === "") return;
      const placed = range.length === 3 || range.length === 4 ? place(range) : undefined;
      if (placed === undefined) {
        outsideCount++;
        return;
      }
      const { startLine, startCharacter, endLine, endCharacter } = placed;
      const name = isLocalSymbol(symbol) || startLine !== endLine ? "" : symbolName(symbol);
      if (name !== "" && endCharacter > startCharacter) {
        checkedCount++;
        const found = lines.slice(startLine, startCharacter, endCharacter);
        // scip-typescript adds a number to the names of properties in literals.
        if (found.includes(name) || name.startsWith(found)) matchedCount++;
      }
      occurrences.push({ ...placed, symbol, roles });
      requireLimit("occurrences", occurrences.length, path);
    },
    symbol: (symbol) => {
      if (symbol.symbol === "") return;
      symbols.push(symbol);
      requireLimit("documentSymbols", symbols.length, path);
    },
  });
  const fits =
    (checkedCount < checkedMin || matchedCount >= checkedCount * matchedShareMin) &&
    (outsideCount === 0 || outsideCount <= occurrences.length);
  return { occurrences, symbols, outsideCount, fits };
}
