import type { Rows } from "../match/rows.js";
import type { SymbolPlaces } from "./symbol-places.js";

/** A document that satisfies a query. */
export interface ScoredDocument {
  /** All texts of the shard, and where that of the document begins and ends. */
  readonly text: Buffer;
  readonly textStart: number;
  readonly textEnd: number;
  readonly rows: Rows;
  readonly rowFrom: number;
  readonly rowTo: number;
  /** In lower case, one character per byte. */
  readonly path: string;
  /** As `weighFile` returns it. */
  readonly fileFactor: number;
  /** Undefined if no symbols are known. */
  readonly places: SymbolPlaces | undefined;
  readonly kinds: readonly string[];
}
