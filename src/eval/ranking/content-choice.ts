import type { ShardReader } from "../../shard/shard-reader.js";
import { type ContentSet, intersect, nothing, subtract, unite } from "../match/content-scan.js";
import { largestWeights, weighDocument, weightGroup } from "./score.js";
import { lowerAscii } from "./query-words.js";
import type { Kernel } from "../../native/kernel/kernel.js";
import type { StopCheck } from "../../protocol/control-block.js";
import type { Leaf } from "../../query/plan/plan.js";
import { nameTexts } from "../../shard/symbols/name-texts.js";
import type { SymbolReader } from "../../shard/symbols/symbol-reader.js";
import { planLeaf } from "../match/leaf-plan.js";

/** The contents of a shard in groups: 0 for those that are most likely to be wanted. */
const groupCount = 16;
/** In how many groups those of a weight are divided by the number of folders. */
const depthCount = 5;

/** Computed when a shard is first ranked, at 1 µs per document. */
const groupsOfReader = new WeakMap<ShardReader, Uint8Array>();

/** A shard of which all candidates are within this many times its share of the budget examines all of them. */
const wholeFactor = 4;

export interface ChosenContents {
  /** Ascending; undefined for all. */
  readonly contents: ContentSet;
  /** False if a candidate is left out. */
  readonly isComplete: boolean;
}

/** Found only if there are too many candidates. */
export interface ContentHints {
  /** The candidates of which some document may be a result, ascending. */
  readonly searched: () => Uint32Array;
  /** Contents to prefer, the best first. The numbers are in any order and need not be candidates. */
  readonly favourites: () => readonly Uint32Array[];
}

/**
 * Chooses all candidates if they are at most four times as many or as large, or else at most `countMax` with at most `bytesMax` of text, but at least one:
 * first the favourites, then the others by what their paths promise, and in the order of the shard.
 */
export function chooseContents(
  reader: ShardReader,
  candidates: ContentSet,
  countMax: number,
  bytesMax: number,
  hints: ContentHints,
): ChosenContents {
  const isAll = (contents: ContentSet): boolean =>
    (contents?.length ?? reader.contentCount + 1) <= countMax * wholeFactor &&
    countBytes(reader, contents) <= bytesMax * wholeFactor;
  if (isAll(candidates)) return { contents: candidates, isComplete: true };
  const searched = hints.searched();
  if (isAll(searched)) return { contents: searched, isComplete: true };
  const chosen: number[] = [];
  let bytes = 0;
  for (const content of orderContents(reader, searched, hints.favourites(), countMax * listedFactor)) {
    if (chosen.length === countMax) break;
    const own = countContentBytes(reader, content);
    if (chosen.length > 0 && bytes + own > bytesMax) continue;
    chosen.push(content);
    bytes += own;
  }
  return { contents: Uint32Array.from(chosen).sort(), isComplete: false };
}

/** Of each kind and group, this many times the wanted number of contents is listed, because some may be too large. */
const listedFactor = 4;

/** First the favourites, then the others; each kind by group, and at most `listMax` of each. */
function orderContents(
  reader: ShardReader,
  contents: Uint32Array,
  favourites: readonly Uint32Array[],
  listMax: number,
): readonly number[] {
  const groups = findGroups(reader);
  const kinds = new Uint8Array(reader.contentCount + 1).fill(favourites.length);
  for (let kind = favourites.length - 1; kind >= 0; kind--)
    for (const content of favourites[kind]) kinds[content] = kind;
  const lists: number[][] = Array.from({ length: (favourites.length + 1) * groupCount }, () => []);
  for (let i = 0; i < contents.length; i++) {
    const list = lists[kinds[contents[i]] * groupCount + groups[contents[i]]];
    if (list.length < listMax) list.push(contents[i]);
  }
  return lists.flat();
}

function countContentBytes({ contentStart, contentCount }: ShardReader, content: number): number {
  return content < contentCount ? contentStart[content + 1] - contentStart[content] : 0;
}

function countBytes(reader: ShardReader, contents: ContentSet): number {
  if (contents === undefined) return reader.contentBytes;
  let bytes = 0;
  for (const content of contents) bytes += countContentBytes(reader, content);
  return bytes;
}

function findGroups(reader: ShardReader): Uint8Array {
  let groups = groupsOfReader.get(reader);
  if (groups === undefined) groupsOfReader.set(reader, (groups = computeGroups(reader)));
  return groups;
}

const weightGroupsOfReader = new WeakMap<ShardReader, Uint8Array>();

/** By content: the `weightGroup` of that of its documents that weighs most. */
function findWeightGroups(reader: ShardReader): Uint8Array {
  let groups = weightGroupsOfReader.get(reader);
  if (groups === undefined) {
    groups = findGroups(reader).map((group) => Math.floor(group / depthCount));
    weightGroupsOfReader.set(reader, groups);
  }
  return groups;
}

/** Each content belongs to the best group of its documents. */
function computeGroups(reader: ShardReader): Uint8Array {
  const groups = new Uint8Array(reader.contentCount + 1).fill(groupCount - 1);
  for (let content = 0; content <= reader.contentCount; content++) {
    const end = reader.contentFirstDocument[content + 1];
    for (let document = reader.contentFirstDocument[content]; document < end; document++) {
      groups[content] = Math.min(groups[content], findGroup(reader, document));
    }
  }
  return groups;
}

/** By weight, then by the number of folders. */
function findGroup(reader: ShardReader, document: number): number {
  const path = reader.path(document).toString("latin1");
  const factor = weighDocument(reader, document, lowerAscii(path));
  let depth = 0;
  for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1)) depth++;
  return weightGroup(factor) * depthCount + Math.min(depthCount - 1, depth);
}

/** Fewer contents are examined faster than they are divided. */
const dividedMin = 24;

/** What matches may be in the name of a symbol: nothing, a part of it, or all of its letters. */
export type Naming = "none" | "partial" | "whole";

/** Contents that are examined together. */
export interface Tier {
  readonly contents: ContentSet;
  /** Of each of their documents. Unless it is `whole`, none has a word in its path either. */
  readonly naming: Naming;
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
  /** The contents with a symbol whose name matches may cover, ascending; undefined if these are not told from others. */
  readonly contentsCovered: (() => Uint32Array) | undefined;
}

/**
 * Divides contents such that those come first of which a document may have a high score: contents in which a name of a
 * symbol or a path may have a match, then the others by weight. Once enough documents are found that score higher than
 * any of the next tier can, its contents need not be read.
 *
 * A name that matches cover counts much more than one of which they are a part. Where these can be told apart, the latter
 * have tiers of their own.
 */
export function divide(contents: ContentSet, hints: TierHints, kernel: Kernel, stop: StopCheck): readonly Tier[] {
  const whole: Tier = { contents, naming: "whole", weightMax: 1 };
  const { reader, symbols, leaves } = hints;
  if (contents === undefined || contents.length < dividedMin) return [whole];
  // The paths in which a word occurs are known if the patterns are searched for in paths, whatever the case.
  if (!leaves.every(({ inPath, foldCase }) => inPath && foldCase)) return [whole];
  const inNames = symbols === undefined ? nothing : contentsWithNames(leaves, symbols, kernel, stop);
  const inPaths = hints.contentsWithPathMatch();
  const named = intersect(contents, unite(inNames, inPaths));
  const covered = symbols && hints.contentsCovered?.();
  // A symbol with the key of a name that the word covers need not have the word.
  const first = covered === undefined ? named : intersect(named, unite(covered, inPaths));
  if (named === undefined || first === undefined || first.length === contents.length) return [whole];
  const groups = findWeightGroups(reader);
  const byWeight = (all: Uint32Array, naming: Naming): Tier[] =>
    largestWeights.map((weightMax, group) => ({
      contents: all.filter((content) => groups[content] === group),
      naming,
      weightMax,
    }));
  const partly = byWeight(subtract(named, first), "partial");
  const others = byWeight(subtract(contents, named), "none");
  return [{ ...whole, contents: first }, ...partly, ...others].filter((tier) => tier.contents?.length !== 0);
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
