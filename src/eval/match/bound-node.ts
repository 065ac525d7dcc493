import type { Kernel } from "../../native/kernel/kernel.js";
import type { StopCheck } from "../../protocol/stop-check.js";
import type { PatternSet } from "../../query/plan/pattern-plan.js";
import type { Leaf } from "../../query/plan/plan.js";
import type { MatchWork } from "../../regexp/match/match-work.js";
import type { ShardReader } from "../../shard/shard-reader.js";
import { StoppableWork } from "./content-work.js";
import { planLeaf, type LeafPlan } from "./leaf-plan.js";
import type { ContentScan } from "./content-scan.js";
import { LeafScan } from "./leaf-scan.js";
import { PathFinder } from "./path-finder.js";
import { matchPaths } from "./path-match.js";
import type { Rows } from "./rows.js";
import { planSet } from "./set-plan.js";
import { SetScan } from "./set-scan.js";

/** An occurrence of a leaf in the pattern tree, bound to a shard. */
export interface BoundLeaf {
  readonly kind: "leaf";
  readonly plan: LeafPlan;
  /** Whether the leaf is searched for in contents. */
  readonly inContent: boolean;
  /** Whether its ranges are included in the results. */
  readonly highlighted: boolean;
  /** Undefined if no content can match, or if contents are not searched. */
  readonly scan: ContentScan | undefined;
  /** 1 for each document whose path matches; undefined if paths are not searched, or none can match. */
  readonly pathBits: Uint8Array | undefined;
  /** One per pattern of the leaf; none for a set, which does not match paths. */
  readonly finders: readonly PathFinder[];
  /** By index in the block's contents: the first row, and the end (exclusive). */
  rowFrom: Uint32Array;
  rowTo: Uint32Array;
  /** 1 for each document of the block that satisfies the node; empty before the node is evaluated. */
  result: Uint8Array;
}

/** A node of the pattern tree, bound to a shard. */
export type BoundNode =
  | BoundLeaf
  | { readonly kind: "not"; readonly child: BoundNode; result: Uint8Array }
  | { readonly kind: "and" | "or"; readonly children: readonly BoundNode[]; result: Uint8Array };

export const noBits = new Uint8Array(0);

/**
 * Binds a leaf to a shard: looks up its postings, and matches all paths if the leaf is searched for in paths.
 * `isCondition`: whether an empty match in a content can make a document a result.
 */
export function bindLeaf(
  leaf: Leaf,
  isCondition: boolean,
  reader: ShardReader,
  kernel: Kernel,
  useIndex: boolean,
  stop: StopCheck,
): BoundLeaf {
  if (leaf.set !== undefined) return bindSet(leaf, leaf.set, reader, kernel, useIndex, stop);
  const work = new StoppableWork(stop);
  const finders = compilePathFinders(leaf, reader, work);
  const anyFinder = finders.length === 1 ? finders[0] : new PathFinder(reader, leaf.source, leaf.foldCase, work);
  const plan = planLeaf(leaf, reader, kernel, useIndex, stop);
  const { inContent } = leaf;
  return {
    kind: "leaf",
    plan,
    finders,
    inContent,
    highlighted: leaf.highlighted,
    scan:
      inContent && plan.candidates?.length !== 0
        ? new LeafScan(plan, reader, kernel, leaf, isCondition, stop)
        : undefined,
    pathBits: leaf.inPath ? matchPaths(reader, kernel, leaf, anyFinder, stop) : undefined,
    rowFrom: new Uint32Array(0),
    rowTo: new Uint32Array(0),
    result: noBits,
  };
}

function bindSet(
  { foldCase, inContent, highlighted }: Leaf,
  set: PatternSet,
  reader: ShardReader,
  kernel: Kernel,
  useIndex: boolean,
  stop: StopCheck,
): BoundLeaf {
  const plan = planSet(set, foldCase, reader, kernel, useIndex);
  return {
    kind: "leaf",
    plan,
    finders: [],
    inContent,
    highlighted,
    scan: plan.candidates?.length === 0 ? undefined : new SetScan(set, foldCase, plan, reader, kernel, stop),
    pathBits: undefined,
    rowFrom: new Uint32Array(0),
    rowTo: new Uint32Array(0),
    result: noBits,
  };
}

function compilePathFinders(
  { source, either, foldCase }: Leaf,
  reader: ShardReader,
  work: MatchWork,
): readonly PathFinder[] {
  return (either.length === 0 ? [source] : either).map((one) => new PathFinder(reader, one, foldCase, work));
}

/** Positive leaves by number of candidates, then the other nodes in the order of the query. */
export function cheapestFirst(children: readonly BoundNode[]): readonly BoundNode[] {
  const cost = (node: BoundNode): number =>
    node.kind === "leaf" ? (node.plan.candidates?.length ?? 2 ** 31) : 2 ** 32;
  return [...children].sort((a, b) => cost(a) - cost(b));
}

/**
 * Whether document `i` of the block, which satisfies the node, is a result: an empty match satisfies a condition, but a
 * document that has nothing else is none.
 */
export function isResult(node: BoundNode, i: number, document: number, contentIndex: number): boolean {
  if (node.result[i] !== 1) return false;
  switch (node.kind) {
    case "leaf":
      return (
        !node.highlighted || node.rowTo[contentIndex] > node.rowFrom[contentIndex] || node.pathBits?.[document] === 1
      );
    case "not":
      return true;
    case "and":
    case "or":
      return node.children.some((child) => isResult(child, i, document, contentIndex));
  }
}

/**
 * Adds the content ranges of the leaves below `node` that document `i` of the block satisfies. Returns the largest
 * number of patterns that can have added some.
 */
export function addNodeRows(node: BoundNode, i: number, contentIndex: number, rows: Rows): number {
  if (node.result[i] !== 1) return 0;
  switch (node.kind) {
    case "leaf":
      return addLeafRows(node, contentIndex, rows);
    case "not":
      return 0;
    case "and":
    case "or":
      return node.children.reduce((leafCount, child) => leafCount + addNodeRows(child, i, contentIndex, rows), 0);
  }
}

function addLeafRows(leaf: BoundLeaf, contentIndex: number, rows: Rows): number {
  if (leaf.scan === undefined || !leaf.highlighted) return 0;
  const { words } = leaf.scan.rows;
  rows.append(words, leaf.rowFrom[contentIndex], leaf.rowTo[contentIndex]);
  const count = leaf.rowTo[contentIndex] - leaf.rowFrom[contentIndex];
  return Math.min(count, Math.max(1, leaf.finders.length));
}

/** Like `addNodeRows`, for the ranges in the document's path. */
export function addNodePathRows(node: BoundNode, i: number, document: number, rows: Rows): void {
  if (node.result[i] !== 1) return;
  switch (node.kind) {
    case "leaf":
      if (node.pathBits?.[document] === 1) for (const finder of node.finders) finder.findAll(document, rows);
      break;
    case "not":
      break;
    case "and":
    case "or":
      for (const child of node.children) addNodePathRows(child, i, document, rows);
  }
}
