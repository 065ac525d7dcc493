import type { Kernel } from "../../native/kernel/kernel.js";
import type { StopCheck } from "../../protocol/control-block.js";
import type { Leaf, TextNode } from "../../query/plan/plan.js";
import { RecordLeaf, type Records } from "./record-leaf.js";

/** A pattern tree whose leaves are bound to the messages or lines of a history shard. */
export class BoundTree {
  readonly root: TextNode;
  readonly leaves: readonly RecordLeaf[];
  /** Whether the matches of a leaf may all be empty. */
  readonly matchesEmpty: boolean;

  constructor(
    root: TextNode,
    leaves: readonly Leaf[],
    records: Records,
    kernel: Kernel,
    useIndex: boolean,
    stop: StopCheck,
    first: number,
  ) {
    this.root = root;
    this.leaves = leaves.map((leaf) => new RecordLeaf(leaf, records, kernel, useIndex, stop, first));
    this.matchesEmpty = leaves.some(({ analysis }) => analysis.matchesEmpty);
  }

  /** A leaf without which the tree does not hold; undefined if no leaf at its top is. */
  get required(): RecordLeaf | undefined {
    const nodes = this.root.kind === "and" ? this.root.children : [this.root];
    for (const node of nodes) if (node.kind === "leaf") return this.leaves[node.leaf];
    return undefined;
  }

  /** Decides all records below `end` for every leaf. */
  decide(end: number): void {
    for (const leaf of this.leaves) leaf.decide(end);
  }

  /** Whether the tree holds, given the leaves that do: one number per leaf, 1 if it holds. */
  holds(hits: Uint8Array): boolean {
    return holds(this.root, hits);
  }

  /**
   * Whether the tree has something to report: a leaf that `reports`, or a *not*, which holds without a match. Given the
   * leaves that hold, for a tree that holds.
   */
  isResult(hits: Uint8Array, reports: (leaf: RecordLeaf) => boolean): boolean {
    return isResult(this.root, hits, (leaf) => reports(this.leaves[leaf]));
  }

  /**
   * The leaves whose matches are reported, given those that hold: highlighted ones that hold, are not below a *not*, and
   * whose *and* holds.
   */
  reported(hits: Uint8Array): readonly RecordLeaf[] {
    const found = new Set<number>();
    collectReported(this.root, hits, found);
    return [...found].map((leaf) => this.leaves[leaf]).filter(({ leaf }) => leaf.highlighted);
  }
}

function holds(node: TextNode, hits: Uint8Array): boolean {
  switch (node.kind) {
    case "leaf":
      return hits[node.leaf] === 1;
    case "not":
      return !holds(node.child, hits);
    case "and":
      return node.children.every((child) => holds(child, hits));
    case "or":
      return node.children.some((child) => holds(child, hits));
  }
}

function isResult(node: TextNode, hits: Uint8Array, reports: (leaf: number) => boolean): boolean {
  if (!holds(node, hits)) return false;
  switch (node.kind) {
    case "leaf":
      return reports(node.leaf);
    case "not":
      return true;
    case "and":
    case "or":
      return node.children.some((child) => isResult(child, hits, reports));
  }
}

function collectReported(node: TextNode, hits: Uint8Array, found: Set<number>): void {
  if (!holds(node, hits)) return;
  if (node.kind === "leaf") found.add(node.leaf);
  else if (node.kind !== "not") for (const child of node.children) collectReported(child, hits, found);
}
