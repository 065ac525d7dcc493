import type { PreciseCandidate } from "../model/precise-index.js";
import type { ShownSymbolKind } from "../model/symbol-kind.js";

/** Asks what uploaded indexes say about a name. */
export interface FindPrecise {
  readonly kind: "find-precise";
  readonly repositoryId: number;
  readonly commit: string;
  readonly path: string;
  /** Where the name is, both from 0, in code points; or the name itself, wherever it is in the file. */
  readonly at: { readonly line: number; readonly character: number } | { readonly name: string };
  readonly want: PreciseQuestion;
  /** The indexes of the repository, the newest first. */
  readonly candidates: readonly PreciseCandidate[];
  readonly placesMax: number;
}

/** Asks what the indexes of another repository say about symbols, each in its own commit. */
export interface FindSymbols {
  readonly kind: "find-symbols";
  readonly repositoryId: number;
  readonly symbols: readonly string[];
  readonly want: PreciseQuestion;
  readonly candidates: readonly PreciseCandidate[];
  readonly placesMax: number;
}

export interface FoundSymbols {
  readonly found: readonly SymbolsInIndex[];
  readonly failures: readonly PreciseFailure[];
}

/** What one index says; those that have nothing are left out. */
export interface SymbolsInIndex extends PrecisePlaces {
  readonly commit: string;
  /** The first of the symbols that it has. */
  readonly about: AboutSymbol;
}

/** `prototypes` are what a symbol implements. */
export type PreciseQuestion = "definitions" | "references" | "implementations" | "prototypes";

export interface PreciseAnswer {
  /** Undefined if no index covers the place: it was changed since, or never indexed. */
  readonly found: FoundPrecise | undefined;
  /** What could not be read, and was left out; not all of what has been reported before. */
  readonly failures: readonly PreciseFailure[];
}

export interface PreciseFailure {
  /** Undefined if it is not known which indexes are near. */
  readonly indexId: number | undefined;
  readonly reason: string;
  /** Whether the file of the index is damaged, rather than that it, or the mirror, could not be read this time. */
  readonly isDamage: boolean;
}

export interface FoundPrecise extends PrecisePlaces {
  readonly indexId: number;
  /** The commit that was indexed, and how many commits lie between it and the one that was asked about. */
  readonly indexCommit: string;
  readonly distance: number;
  readonly name: string;
  /** Where the name is in the file that was asked about; undefined if the question was by name. */
  readonly range: PreciseRange | undefined;
  readonly about: AboutSymbol;
  /** Symbols of the index that implement it, wherever they are. */
  readonly implementationCount: number;
  /** The symbols themselves, unless they exist only in the file, and the numbers of their packages: other repositories may have them. */
  readonly symbols: readonly string[];
  readonly packages: readonly number[];
}

export interface PrecisePlaces {
  readonly files: readonly PreciseFile[];
  readonly placeCount: number;
  /** Whether there may be more: beyond the limit, in lines that have changed, or, of uses, in what other indexes describe. */
  readonly limitHit: boolean;
}

/** What an index says about a symbol. */
export interface AboutSymbol {
  readonly kind: ShownSymbolKind;
  readonly signature: string;
  /** In Markdown. */
  readonly documentation: string;
}

export interface PreciseFile {
  readonly path: string;
  readonly language: string;
  readonly places: readonly PrecisePlace[];
}

/** Lines and characters count from 0; characters are code points. */
export interface PreciseRange {
  readonly start: { readonly line: number; readonly character: number };
  readonly end: { readonly line: number; readonly character: number };
}

export interface PrecisePlace {
  readonly range: PreciseRange;
  /** Its line, or of a long one the part around it. */
  readonly preview: string;
  /** Code points of the line before the preview. */
  readonly previewStart: number;
}
