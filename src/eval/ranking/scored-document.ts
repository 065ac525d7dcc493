import type { Rows } from "../match/rows.js";
import type { NameFeatures } from "./score.js";
import type { SymbolPlaces } from "./symbol-places.js";

/** What the path of a document has of the words. */
export interface PathFeatures {
  readonly pathBits: number;
  readonly fileName: NameFeatures | undefined;
  readonly folders: number;
}

/** A document that satisfies a query. */
export interface ScoredDocument {
  /** All texts of the shard, and where that of the document begins and ends. */
  readonly text: Buffer;
  readonly textStart: number;
  readonly textEnd: number;
  readonly rows: Rows;
  readonly rowFrom: number;
  readonly rowTo: number;
  readonly inPath: PathFeatures;
  /** As `weighFile` returns it. */
  readonly fileFactor: number;
  /** Undefined if no symbols are known. */
  readonly places: SymbolPlaces | undefined;
  readonly kinds: readonly string[];
}
