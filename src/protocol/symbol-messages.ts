import type { SymbolMatch } from "../model/stream-events.js";
import type { ShownSymbolKind } from "../model/symbol-kind.js";

/** A file, and a position in it: lines count from 0, characters are code points. */
export interface FilePosition {
  readonly repositoryId: number;
  readonly oid: string;
  readonly path: string;
  readonly line: number;
  readonly character: number;
}

/** The symbols of a file. Files that are too large or binary have none. */
export interface ListSymbols {
  readonly repositoryId: number;
  readonly kind: "list-symbols";
  readonly oid: string;
  readonly path: string;
  /** A regexp for their names, regardless of case; "" for all. */
  readonly query: string;
  /** Empty for all. */
  readonly kinds: readonly ShownSymbolKind[];
  readonly skipCount: number;
  readonly countMax: number;
}

export interface ListedSymbols {
  /** In file order. */
  readonly symbols: readonly SymbolMatch[];
  /** Of the symbols that pass the filters. */
  readonly totalCount: number;
  readonly language: string;
  /** Why symbols cannot be extracted; "" if they can. */
  readonly lack: string;
}

/** Finds the word at a position of a file, and where it is defined and used in the file. */
export interface ListOccurrences extends FilePosition {
  readonly kind: "list-occurrences";
  /** True for all names that the file defines, not only the one at the position. */
  readonly all: boolean;
}

export interface Occurrence {
  /** From 0. */
  readonly line: number;
  /** Code points. */
  readonly character: number;
  readonly length: number;
}

export interface ListedOccurrences {
  readonly language: string;
  /** The word at the position; undefined if there is none. */
  readonly word: (Occurrence & { readonly name: string }) | undefined;
  readonly names: readonly {
    readonly name: string;
    readonly definitions: readonly SymbolMatch[];
    readonly references: readonly Occurrence[];
  }[];
}
