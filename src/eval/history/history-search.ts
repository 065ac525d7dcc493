import { type HistoryReader, type Person, personTexts } from "../../history/history-reader.js";
import type { Kernel } from "../../native/kernel/kernel.js";
import type { StopCheck } from "../../protocol/control-block.js";
import type { HistoryPlan, PersonFilter } from "../../query/plan/plan.js";
import { FileFilters } from "../match/file-filters.js";
import { Rows } from "../match/rows.js";
import { BoundTree } from "./bound-tree.js";
import { ChangedFiles, type FoundFile } from "./changed-files.js";
import {
  codePoints as countCodePoints,
  distinctRows,
  type HighlightRange,
  type HistoryText,
  renderDiff,
} from "./diff-text.js";
import { lineRecords, messageRecords, RecordLeaf } from "./record-leaf.js";
import { compileRegexp } from "../../regexp/match/matcher.js";
import { isAscii } from "node:buffer";

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

/** The conditions on persons and dates of a plan, and on the commits that are searched, bound to one history shard. */
class CommitFilters {
  readonly #reader: HistoryReader;
  readonly #after: number;
  readonly #before: number;
  readonly #visible: Uint32Array | undefined;
  /** Undefined if there are no filters. */
  readonly #authors: PersonTests | undefined;
  readonly #committers: PersonTests | undefined;

  /** `visible` has one bit per commit; undefined for all. */
  constructor(plan: HistoryPlan, reader: HistoryReader, visible: Uint32Array | undefined, stop: StopCheck) {
    this.#reader = reader;
    this.#after = plan.committedAfter ?? -Infinity;
    this.#before = plan.committedBefore ?? Infinity;
    this.#visible = visible;
    this.#authors = makeTests(plan, "author", reader, stop);
    this.#committers = makeTests(plan, "committer", reader, stop);
  }

  pass(commit: number): boolean {
    const { committerDates, authors, committers } = this.#reader;
    if (this.#visible !== undefined && ((this.#visible[commit >>> 5] >>> (commit & 31)) & 1) === 0) return false;
    const date = committerDates[commit];
    if (!(date > this.#after && date < this.#before)) return false;
    if (this.#authors !== undefined && !this.#authors.pass(authors[commit])) return false;
    return this.#committers === undefined || this.#committers.pass(committers[commit]);
  }
}

/** The filters of one role. A person is tested when the first commit needs it: the newest results need few of them. */
class PersonTests {
  readonly #filters: readonly PersonFilter[];
  readonly #reader: HistoryReader;
  readonly #stop: StopCheck;
  /** By person number: 0 is not known yet, 1 satisfies all filters, 2 does not. */
  readonly #known: Uint8Array;

  constructor(filters: readonly PersonFilter[], reader: HistoryReader, stop: StopCheck) {
    this.#filters = filters;
    this.#reader = reader;
    this.#stop = stop;
    this.#known = new Uint8Array(reader.personCount);
  }

  pass(number: number): boolean {
    if (this.#known[number] === 0) {
      this.#stop.check();
      const person = this.#reader.person(number);
      const passes = this.#filters.every((filter) => isMatch(filter, person) !== filter.negated);
      this.#known[number] = passes ? 1 : 2;
    }
    return this.#known[number] === 1;
  }
}

/** Undefined if the plan has no filters of this role. */
function makeTests(
  { persons }: HistoryPlan,
  role: PersonFilter["role"],
  reader: HistoryReader,
  stop: StopCheck,
): PersonTests | undefined {
  const filters = persons.filter((filter) => filter.role === role);
  return filters.length === 0 ? undefined : new PersonTests(filters, reader, stop);
}

function isMatch({ source, foldCase }: PersonFilter, person: Person): boolean {
  const regexp = compileRegexp(source, foldCase);
  return personTexts(person).some((text) => regexp.test(text));
}

const newline = 10;

/** More ranges than this are counted and not listed. */
const rangeCountMax = 10_000;

/** The matches of these patterns in the message of a commit. A match over several lines has a range on each. */
function renderMessage(reader: HistoryReader, commit: number, leaves: readonly RecordLeaf[], rows: Rows): HistoryText {
  const message = reader.message(commit);
  rows.clear();
  // Most messages are ASCII, and of those no code points are counted.
  const length = leaves.length > 0 && isAscii(message) ? countAscii : codePoints;
  for (const leaf of leaves) leaf.findAll(message, rows);
  const ranges: HighlightRange[] = [];
  let matchCount = 0;
  let line = 0;
  let lineStart = 0;
  for (const [from, to] of distinctRows(rows)) {
    for (
      let end = message.indexOf(newline, lineStart);
      end >= 0 && end < from;
      end = message.indexOf(newline, lineStart)
    ) {
      lineStart = end + 1;
      line++;
    }
    let at = from;
    for (let [start, number] = [lineStart, line]; at < to; number++) {
      const found = message.indexOf(newline, at);
      const end = found < 0 || found > to ? to : found;
      if (end > at) {
        matchCount++;
        if (ranges.length < rangeCountMax) ranges.push([number, length(message, start, at), length(message, at, end)]);
      }
      at = start = end + 1;
    }
  }
  return { text: "", ranges, matchCount, isCut: matchCount > ranges.length };
}

function codePoints(message: Buffer, from: number, to: number): number {
  return countCodePoints(message.subarray(from, to));
}

/** The same for ASCII. */
function countAscii(_message: Buffer, from: number, to: number): number {
  return to - from;
}

/** Null if the commits are in order already. Valid as long as the readers. */
const known = new WeakMap<HistoryReader, Uint32Array | null>();

/**
 * The order of results: descending by committer date, ascending by oid where dates are equal. It does not depend on how
 * a history is divided into shards. Undefined if the commits of the shard are in this order, which is usual.
 */
function commitOrder(reader: HistoryReader): Uint32Array | undefined {
  let order = known.get(reader);
  if (order === undefined) known.set(reader, (order = isOrdered(reader) ? null : sortCommits(reader)));
  return order ?? undefined;
}

function isOrdered(reader: HistoryReader): boolean {
  for (let commit = 1; commit < reader.commitCount; commit++)
    if (compareCommits(reader, commit - 1, reader, commit) >= 0) return false;
  return true;
}

function sortCommits(reader: HistoryReader): Uint32Array {
  return Uint32Array.from({ length: reader.commitCount }, (_, i) => i).sort((a, b) =>
    compareCommits(reader, a, reader, b),
  );
}

/** Negative if commit `a` of one shard comes before commit `b` of another. */
export function compareCommits(readerA: HistoryReader, a: number, readerB: HistoryReader, b: number): number {
  const byDate = readerB.committerDates[b] - readerA.committerDates[a];
  if (byDate !== 0) return byDate;
  const { oids, oidBytes } = readerB;
  return readerA.oids.compare(oids, b * oidBytes, (b + 1) * oidBytes, a * oidBytes, (a + 1) * oidBytes);
}
