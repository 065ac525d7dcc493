import type { Kernel } from "../../native/kernel/kernel.js";
import type { StopCheck } from "../../protocol/control-block.js";
import type { Leaf } from "../../query/plan/plan.js";
import type { ShardReader } from "../../shard/shard-reader.js";
import { nameTexts } from "../../shard/symbols/name-texts.js";
import type { SymbolReader } from "../../shard/symbols/symbol-reader.js";
import { type ContentSet, intersect, nothing, subtract, unite } from "../match/content-scan.js";
import { planLeaf } from "../match/leaf-plan.js";
import { largestWeights } from "./file-weight.js";
import { findWeightGroups } from "./content-choice.js";

/** Fewer contents are examined faster than they are divided. */
const dividedMin = 24;

/** Contents that are examined together. */
export interface Tier {
  readonly contents: ContentSet;
  /** False if no document of theirs has a match in the name of a symbol, or a word in its path. */
  readonly mayBeNamed: boolean;
  /** The largest weight of a document. */
  readonly weightMax: number;
}

/** What the tiers depend on besides the contents. */
export interface TierHints {
  readonly reader: ShardReader;
  readonly symbols: SymbolReader | undefined;
  /** The patterns whose matches are scored. */
  readonly leaves: readonly Leaf[];
  readonly contentsWithPathMatch: () => Uint32Array;
}

/**
 * Divides contents such that those come first of which a document may have a high score: contents in which a name of a
 * symbol or a path may have a match, then the others by weight. Once enough documents are found that score higher than
 * any of the next tier can, its contents need not be read.
 */
export function divide(contents: ContentSet, hints: TierHints, kernel: Kernel, stop: StopCheck): readonly Tier[] {
  const whole: Tier = { contents, mayBeNamed: true, weightMax: 1 };
  const { reader, symbols, leaves } = hints;
  if (contents === undefined || contents.length < dividedMin) return [whole];
  // The paths in which a word occurs are known if the patterns are searched for in paths, whatever the case.
  if (!leaves.every(({ inPath, foldCase }) => inPath && foldCase)) return [whole];
  const inNames = symbols === undefined ? nothing : contentsWithNames(leaves, symbols, kernel, stop);
  const named = intersect(contents, unite(inNames, hints.contentsWithPathMatch()));
  if (named === undefined || named.length === contents.length) return [whole];
  const others = subtract(contents, named);
  const groups = findWeightGroups(reader);
  const byWeight = largestWeights.map((weightMax, group) => ({
    contents: others.filter((content) => groups[content] === group),
    mayBeNamed: false,
    weightMax,
  }));
  return [{ ...whole, contents: named }, ...byWeight].filter((tier) => tier.contents.length > 0);
}

/**
 * The contents with a symbol whose name may contain a match. Sound because a match in a name consists of bytes of the name,
 * so the posting lists of names have what the pattern requires.
 */
function contentsWithNames(
  leaves: readonly Leaf[],
  symbols: SymbolReader,
  kernel: Kernel,
  stop: StopCheck,
): ContentSet {
  const texts = nameTexts(symbols);
  const { contents } = symbols.parts;
  return leaves
    .map((leaf) => planLeaf(leaf, texts, kernel, true, stop).candidates)
    .map((parts) => parts && Uint32Array.from(parts, (part) => contents[part]))
    .reduce<ContentSet>(unite, nothing);
}
