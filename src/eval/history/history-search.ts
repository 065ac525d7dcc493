import type { HistoryReader } from "../../history/history-reader.js";
import type { Kernel } from "../../native/kernel/kernel.js";
import type { StopCheck } from "../../protocol/stop-check.js";
import type { HistoryPlan } from "../../query/plan/history-plan.js";
import { FileFilters } from "../match/file-filters.js";
import { Rows } from "../match/rows.js";
import { BoundTree } from "./bound-tree.js";
import { ChangedFiles, type FoundFile } from "./changed-files.js";
import { CommitFilters } from "./commit-filters.js";
import { commitOrder } from "./commit-order.js";
import { renderDiff } from "./diff-text.js";
import { renderMessage } from "./message-text.js";
import { RecordLeaf } from "./record-leaf.js";
import { lineRecords, messageRecords } from "./records.js";
import type { HistoryText } from "./history-text.js";

/** Commits whose messages and lines are decided at a time: few at first, so that the first result comes soon. */
const blockCommitsFirst = 64;
const blockCommitsMax = 8192;

/** The stop flag is checked after this many commits, and while each of them is decided. */
const commitsPerCheck = 64;

export interface HistoryTarget {
  readonly reader: HistoryReader;
  readonly kernel: Kernel;
  /** The commits to search, one bit each; undefined for all. */
  readonly visible: Uint32Array | undefined;
  /** If false, every record is a candidate, which tests verification independently of the index. */
  readonly useIndex: boolean;
  readonly stop: StopCheck;
  /** Position in the order of results of the first commit to search. */
  readonly from?: number;
}

/**
 * One plan on one history shard.
 *
 *     for each block of commits, in the order of results:
 *         decide which messages and lines match the patterns
 *         for each commit that is visible and passes the filters on persons and dates:
 *             "commit": the message satisfies the pattern, and some changed file passes the path filters
 *             "diff": the message satisfies the message filters, and some changed file satisfies filters and pattern
 *
 * Contract: `next` returns the number of the next commit that satisfies the plan, or -1 at the end; `render` writes the
 * text of the commit that `next` returned last. Both throw `cancelled` when the search is stopped.
 */
export class HistorySearch {
  readonly #reader: HistoryReader;
  readonly #plan: HistoryPlan;
  readonly #filters: CommitFilters;
  readonly #order: Uint32Array | undefined;
  readonly #stop: StopCheck;
  /** Of "commit": the pattern on messages. */
  readonly #messageTree: BoundTree | undefined;
  /** A pattern that the message of each result matches: most commits are excluded by one bit. */
  readonly #requiredLeaf: RecordLeaf | undefined;
  /** Of "diff": the filters on messages. */
  readonly #messageFilters: readonly { readonly leaf: RecordLeaf; readonly negated: boolean }[];
  /** Of "diff": the pattern on changed lines. */
  readonly #lineTree: BoundTree | undefined;
  readonly #files: ChangedFiles;
  readonly #hits: Uint8Array;
  /** Matches in a message, reused. */
  readonly #rows = new Rows(16);
  /** Position in the order of the next commit, and of the end of the block that is decided. */
  #at: number;
  #blockEnd: number;
  #blockCommits = blockCommitsFirst;
  #commit = -1;
  #found: readonly FoundFile[] = [];

  constructor(plan: HistoryPlan, { reader, kernel, visible, useIndex, stop, from = 0 }: HistoryTarget) {
    this.#at = from;
    this.#blockEnd = from;
    this.#reader = reader;
    this.#plan = plan;
    this.#stop = stop;
    this.#filters = new CommitFilters(plan, reader, visible, stop);
    this.#order = commitOrder(reader);
    const { pattern, leaves, kind, messages } = plan;
    // In the order of results, messages before the first one are not needed. Any commit may use the first lines.
    const first = this.#order === undefined ? from : 0;
    const bind = (records: ReturnType<typeof messageRecords>, firstRecord: number): BoundTree | undefined =>
      pattern === undefined ? undefined : new BoundTree(pattern, leaves, records, kernel, useIndex, stop, firstRecord);
    this.#messageTree = kind === "commit" ? bind(messageRecords(reader), first) : undefined;
    this.#requiredLeaf = this.#messageTree?.required;
    this.#lineTree = kind === "diff" ? bind(lineRecords(reader, kernel), 0) : undefined;
    this.#messageFilters = messages.map(({ leaf, negated }) => ({
      leaf: new RecordLeaf(leaf, messageRecords(reader), kernel, useIndex, stop, first),
      negated,
    }));
    const fileFilters = new FileFilters(plan.fileFilters, reader.paths, kernel, stop);
    this.#files = new ChangedFiles(reader, fileFilters, this.#lineTree, plan.onlySign);
    this.#hits = new Uint8Array(leaves.length);
  }

  next(): number {
    const count = this.#reader.commitCount;
    const required = this.#requiredLeaf;
    for (; this.#at < count; this.#at++) {
      if (this.#at % commitsPerCheck === 0) this.#stop.check();
      if (this.#at === this.#blockEnd) this.#decideBlock();
      const commit = this.#order === undefined ? this.#at : this.#order[this.#at];
      if (required !== undefined && !required.has(commit)) continue;
      if (!this.#filters.pass(commit) || !this.#matches(commit)) continue;
      this.#at++;
      return (this.#commit = commit);
    }
    return -1;
  }

  /** Position in the order of results of the commit that `next` returned last. */
  get position(): number {
    return this.#at - 1;
  }

  render(): HistoryText {
    return this.#plan.kind === "commit"
      ? renderMessage(this.#reader, this.#commit, this.#messageTree?.reported(this.#hits) ?? [], this.#rows)
      : renderDiff(this.#reader, this.#found, this.#plan.onlySign, this.#stop);
  }

  #decideBlock(): void {
    const reader = this.#reader;
    const end = Math.min(reader.commitCount, this.#at + this.#blockCommits);
    this.#blockCommits = Math.min(this.#blockCommits * 2, blockCommitsMax);
    this.#blockEnd = end;
    // In another order, any commit may come next.
    const commits = this.#order === undefined ? end : reader.commitCount;
    this.#messageTree?.decide(commits);
    for (const { leaf } of this.#messageFilters) leaf.decide(commits);
    const entries = reader.commitFirstEntry[commits];
    this.#lineTree?.decide(reader.entryFirstLine[entries]);
  }

  #matches(commit: number): boolean {
    if (this.#plan.kind === "commit") return this.#messageHolds(commit) && this.#hasWantedFile(commit);
    if (!this.#messageFilters.every(({ leaf, negated }) => leaf.has(commit) !== negated)) return false;
    this.#found = this.#files.find(commit);
    return this.#found.length > 0;
  }

  #messageHolds(commit: number): boolean {
    const tree = this.#messageTree;
    if (tree === undefined) return true;
    tree.leaves.forEach((leaf, i) => (this.#hits[i] = leaf.has(commit) ? 1 : 0));
    if (!tree.holds(this.#hits)) return false;
    return (
      !tree.matchesEmpty || this.#plan.includesFilters || tree.isResult(this.#hits, (leaf) => leaf.reports(commit))
    );
  }

  #hasWantedFile(commit: number): boolean {
    return this.#plan.fileFilters.length === 0 || this.#files.anyPasses(commit);
  }
}
