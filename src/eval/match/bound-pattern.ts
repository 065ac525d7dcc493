import type { Kernel } from "../../native/kernel/kernel.js";
import type { SearchStats } from "../../protocol/search-options.js";
import type { StopCheck } from "../../protocol/control-block.js";
import type { PatternSet, Leaf, TextNode } from "../../query/plan/plan.js";
import type { ShardReader } from "../../shard/shard-reader.js";
import { type ContentScan, type ContentSet, intersect, StoppableWork, unite } from "./content-scan.js";
import type { Labels, Rows } from "./rows.js";
import type { MatchWork } from "../../regexp/match/matcher.js";
import { type LeafPlan, planLeaf, withAutomaton } from "./leaf-plan.js";
import { LeafScan } from "./leaf-scan.js";
import { PathFinder, matchPaths } from "./path-match.js";
import { planSet, SetScan } from "./set-scan.js";

/** The documents that are evaluated together. */
export interface DocumentBlock {
  /** Ascending. */
  readonly contents: Uint32Array;
  /** Documents with these contents that pass all filters, ascending. */
  readonly documents: readonly number[];
  /** For each of `documents`, the index of its content in `contents`. */
  readonly contentIndexes: readonly number[];
}

/**
 * The pattern tree of a basic query, bound to one shard.
 *
 * `evaluate` works on sets of documents: each node takes the documents that are still alive and returns those that
 * satisfy it. *And* evaluates its cheapest child first and passes only the survivors on, *not* evaluates its child only
 * for documents that the other side left, and a leaf scans only the contents of documents that are alive. Therefore
 * text is read only if no cheaper condition has decided.
 */
export class BoundPattern {
  /** True if all leaves are sets of long literals: even a block of 4 MiB then has far fewer labels than are kept. */
  readonly hasFewLabels: boolean;
  readonly #root: BoundNode;
  readonly #leaves: BoundLeaf[] = [];
  readonly #reader: ShardReader;
  #block: DocumentBlock = { contents: new Uint32Array(0), documents: [], contentIndexes: [] };

  constructor(
    pattern: TextNode,
    leaves: readonly Leaf[],
    reader: ShardReader,
    kernel: Kernel,
    useIndex: boolean,
    stop: StopCheck,
  ) {
    this.#reader = reader;
    this.hasFewLabels = leaves.every(({ set }) => set !== undefined && isOfLongLiterals(set));
    this.#root = this.#bind(pattern, (leaf) => {
      const isCondition = pattern.kind !== "leaf" || !leaves[leaf].highlighted;
      return bindLeaf(leaves[leaf], isCondition, reader, kernel, useIndex, stop);
    });
  }

  /** True if evaluation reads little more than the rows it finds, because RE2 is not needed. */
  get isCheap(): boolean {
    return this.#leaves.every(({ plan }) => plan.method === "literals" && plan.candidates !== undefined);
  }

  /**
   * The scan of the only leaf, if a document whose path does not match satisfies the pattern exactly if its content has
   * rows; otherwise undefined.
   */
  get onlyScan(): ContentScan | undefined {
    const root = this.#root;
    return root.kind === "leaf" && root.highlighted && root.finders.length <= 1 ? root.scan : undefined;
  }

  /** The labels of the block's contents: those of the set, if there is one. */
  get labels(): readonly Labels[] {
    return this.#leaves.flatMap(({ scan }) => scan?.labels ?? []);
  }

  /** Contents that may contain a satisfying document; sound because each leaf's candidates are. */
  candidates(): ContentSet {
    return this.#findCandidates(this.#root);
  }

  /** Contents of documents whose path a positive or negated pattern matches, ascending. */
  contentsWithPathMatch(): Uint32Array {
    return this.#leaves
      .flatMap(({ pathBits }) => (pathBits === undefined ? [] : [this.#contentsOfDocuments(pathBits)]))
      .reduce((all, contents) => unite(all, contents) ?? all, new Uint32Array(0));
  }

  /** The contents of the next block need not follow those of the last one. */
  rewind(): void {
    for (const { scan } of this.#leaves) scan?.rewind();
  }

  addStats(stats: SearchStats): void {
    for (const leaf of this.#leaves) {
      stats.postingBytes += leaf.inContent ? leaf.plan.postingBytes : 0;
      stats.scannedBytes += leaf.scan?.scannedBytes ?? 0;
    }
  }

  /**
   * Returns 1 for each document of the block that satisfies the pattern. The results of the other methods are valid
   * until the next call. Throws `cancelled` if the search is stopped.
   */
  evaluate(block: DocumentBlock): Uint8Array {
    this.#block = block;
    for (const leaf of this.#leaves) {
      leaf.result = noBits;
      leaf.scan?.tooCostly.clear();
    }
    const alive = new Uint8Array(block.documents.length).fill(1);
    if (block.documents.length === 0) return alive;
    const satisfied = this.#evaluate(this.#root, alive);
    return this.#leaves.some(({ scan }) => scan !== undefined && scan.emptyMatched.size > 0)
      ? satisfied.map((bit, i) => bit & Number(isResult(this.#root, i, block.documents[i], block.contentIndexes[i])))
      : satisfied;
  }

  /** True if some content of the block takes too much work to search. */
  get hasTooCostly(): boolean {
    return this.#leaves.some(({ scan }) => scan !== undefined && scan.tooCostly.size > 0);
  }

  /** Whether the content takes too much work to search. */
  isTooCostly(content: number): boolean {
    return this.#leaves.some(({ scan }) => scan?.tooCostly.has(content) === true);
  }

  /**
   * Adds to `rows` the ranges in the content of document `i` of the block: those of all leaves that it satisfies and
   * that are not below a *not*. Returns the largest number of patterns that can have added some: with more than one,
   * the ranges may overlap.
   */
  addRows(i: number, rows: Rows): number {
    return addNodeRows(this.#root, i, this.#block.contentIndexes[i], rows);
  }

  /** Like `addRows`, for the path of document `i` of the block. */
  addPathRows(i: number, rows: Rows): void {
    addNodePathRows(this.#root, i, this.#block.documents[i], rows);
  }

  #bind(node: TextNode, bind: (leaf: number) => BoundLeaf): BoundNode {
    switch (node.kind) {
      case "leaf": {
        const leaf = bind(node.leaf);
        this.#leaves.push(leaf);
        return leaf;
      }
      case "not":
        return { kind: "not", child: this.#bind(node.child, bind), result: noBits };
      case "and":
      case "or":
        return { kind: node.kind, children: node.children.map((child) => this.#bind(child, bind)), result: noBits };
    }
  }

  #findCandidates(node: BoundNode): ContentSet {
    switch (node.kind) {
      case "leaf":
        return this.#leafCandidates(node);
      case "not":
        return undefined;
      case "and":
        return node.children.map((child) => this.#findCandidates(child)).reduce(intersect);
      case "or":
        return node.children.map((child) => this.#findCandidates(child)).reduce(unite);
    }
  }

  #leafCandidates(leaf: BoundLeaf): ContentSet {
    const inContent = leaf.scan === undefined ? new Uint32Array(0) : leaf.plan.candidates;
    return leaf.pathBits === undefined ? inContent : unite(inContent, this.#contentsOfDocuments(leaf.pathBits));
  }

  #contentsOfDocuments(bits: Uint8Array): Uint32Array {
    const contents: number[] = [];
    const first = this.#reader.contentFirstDocument;
    let content = 0;
    for (let document = bits.indexOf(1); document >= 0; document = bits.indexOf(1, document + 1)) {
      while (first[content + 1] <= document) content++;
      if (contents[contents.length - 1] !== content) contents.push(content);
    }
    return Uint32Array.from(contents);
  }

  #evaluate(node: BoundNode, alive: Uint8Array): Uint8Array {
    node.result = this.#evaluateNode(node, alive);
    return node.result;
  }

  #evaluateNode(node: BoundNode, alive: Uint8Array): Uint8Array {
    switch (node.kind) {
      case "leaf":
        return this.#evaluateLeaf(node, alive);
      case "not": {
        const excluded = this.#evaluate(node.child, alive);
        return alive.map((bit, i) => bit & (excluded[i] ^ 1));
      }
      case "and": {
        let survivors = alive;
        for (const child of cheapestFirst(node.children)) survivors = this.#evaluate(child, survivors);
        return survivors;
      }
      case "or": {
        const result = new Uint8Array(alive.length);
        for (const child of node.children) {
          const bits = this.#evaluate(child, alive);
          for (let i = 0; i < bits.length; i++) result[i] |= bits[i];
        }
        return result;
      }
    }
  }

  #evaluateLeaf(leaf: BoundLeaf, alive: Uint8Array): Uint8Array {
    const result = new Uint8Array(alive.length);
    if (leaf.scan !== undefined) this.#scanLeaf(leaf, leaf.scan, alive, result);
    if (leaf.pathBits !== undefined) {
      const { documents } = this.#block;
      for (let i = 0; i < alive.length; i++) result[i] |= alive[i] & leaf.pathBits[documents[i]];
    }
    return result;
  }

  /**
   * Scans the contents of live documents for the leaf, records the rows, and sets the bits of documents that have some,
   * or an empty match.
   */
  #scanLeaf(leaf: BoundLeaf, scan: ContentScan, alive: Uint8Array, result: Uint8Array): void {
    const { contents, contentIndexes } = this.#block;
    const indexes = new Uint32Array(contents.length);
    const wanted = new Uint32Array(contents.length);
    let count = 0;
    for (let i = 0; i < alive.length; i++) {
      const index = contentIndexes[i];
      if (alive[i] === 0 || (count > 0 && indexes[count - 1] === index)) continue;
      indexes[count] = index;
      wanted[count++] = contents[index];
    }
    scan.scan(wanted.subarray(0, count));
    if (leaf.rowFrom.length < contents.length) {
      leaf.rowFrom = new Uint32Array(contents.length);
      leaf.rowTo = new Uint32Array(contents.length);
    }
    leaf.rowFrom.fill(0);
    leaf.rowTo.fill(0);
    for (let k = 0; k < count; k++) {
      leaf.rowFrom[indexes[k]] = scan.rowStart[k];
      leaf.rowTo[indexes[k]] = scan.rowStart[k + 1];
    }
    for (let i = 0; i < alive.length; i++) {
      const index = contentIndexes[i];
      if (alive[i] === 0) continue;
      if (leaf.rowTo[index] > leaf.rowFrom[index] || scan.emptyMatched.has(contents[index])) result[i] = 1;
    }
  }
}

/** Literals of eight bytes and more, each of them one pattern. */
function isOfLongLiterals({ regexps, targets, table }: PatternSet): boolean {
  const areLong = table.groups.every(({ stride }) => stride >= 4);
  return regexps.length === 0 && areLong && targets.length < table.starts.length;
}

/** An occurrence of a leaf in the pattern tree, bound to a shard. */
interface BoundLeaf {
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
type BoundNode =
  | BoundLeaf
  | { readonly kind: "not"; readonly child: BoundNode; result: Uint8Array }
  | { readonly kind: "and" | "or"; readonly children: readonly BoundNode[]; result: Uint8Array };

const noBits = new Uint8Array(0);

/**
 * Binds a leaf to a shard: looks up its postings, and matches all paths if the leaf is searched for in paths.
 * `isCondition`: whether an empty match in a content can make a document a result.
 */
function bindLeaf(
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
  const { inContent } = leaf;
  const first = planLeaf(leaf, reader, kernel, useIndex, stop);
  const plan = inContent && first.candidates?.length !== 0 ? withAutomaton(first, leaf, reader, kernel) : first;
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
function cheapestFirst(children: readonly BoundNode[]): readonly BoundNode[] {
  const cost = (node: BoundNode): number =>
    node.kind === "leaf" ? (node.plan.candidates?.length ?? 2 ** 31) : 2 ** 32;
  return [...children].sort((a, b) => cost(a) - cost(b));
}

/**
 * Whether document `i` of the block, which satisfies the node, is a result: an empty match satisfies a condition, but a
 * document that has nothing else is none.
 */
function isResult(node: BoundNode, i: number, document: number, contentIndex: number): boolean {
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
function addNodeRows(node: BoundNode, i: number, contentIndex: number, rows: Rows): number {
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
function addNodePathRows(node: BoundNode, i: number, document: number, rows: Rows): void {
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
