import { type SymbolFault, symbolFaults } from "../../model/shard-record.js";

/**
 * The symbols of one text, ordered by line. Element i of each array belongs to symbol i. Strings have one character per
 * byte (latin1), because names need not be valid UTF-8.
 */
export interface ContentSymbols {
  /** Not empty, without newlines. */
  readonly names: readonly string[];
  /** Counted from 1. */
  readonly lines: readonly number[];
  /** Where the name begins in the text; -1 if its line does not contain it. The names do not overlap. */
  readonly offsets: readonly number[];
  /** As ctags names them, such as `function`. */
  readonly kinds: readonly string[];
  /** What the symbol is part of, such as a class; "" for none. */
  readonly containers: readonly string[];
}

/** A symbol with a longer name is not stored. */
export const nameBytesMax = 4096;

/** A longer container is stored as none. */
export const containerBytesMax = 4096;

export const noSymbols: ContentSymbols = { names: [], lines: [], offsets: [], kinds: [], containers: [] };

/** Whether a text has symbols, and otherwise why not. The numbers are stored. */
export const symbolStates = {
  extracted: 0,
  /** The symbols of its language are not indexed. */
  unsupported: 1,
  /** ctags took too long. */
  time: 2,
  /** ctags crashed. */
  crash: 3,
  /** ctags wrote something else than symbols. */
  garbage: 4,
  /** ctags wrote too much. */
  output: 5,
} as const;

export type SymbolState = keyof typeof symbolStates;

/** Why ctags has failed for a text with this state; undefined if it has not. */
export function findFault(code: number): SymbolFault | undefined {
  return (Object.keys(symbolFaults) as SymbolFault[]).find((fault) => symbolStates[fault] === code);
}
