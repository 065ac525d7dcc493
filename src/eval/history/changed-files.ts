import { entryPathShift, entryStatusMask, runSigns } from "../../history/format.js";
import type { HistoryReader } from "../../history/history-reader.js";
import { HunkReader } from "../../history/hunk-reader.js";
import type { FileFilters } from "../match/file-filters.js";
import type { BoundTree } from "./bound-tree.js";
import type { RecordLeaf } from "./record-leaf.js";
import { scanEntry } from "./scan-entry.js";

/** The sign of the only lines whose matches count; undefined if all do. */
export type OnlySign = "+" | "-" | undefined;

/** A changed file that satisfies a plan, and the patterns whose matches in its lines are reported. */
export interface FoundFile {
  readonly entry: number;
  readonly reported: readonly RecordLeaf[];
}

/** Decides which changed files of a commit satisfy the path filters and the pattern of a plan. */
export class ChangedFiles {
  readonly #reader: HistoryReader;
  readonly #filters: FileFilters;
  readonly #tree: BoundTree | undefined;
  readonly #onlySign: OnlySign;
  readonly #hunks: HunkReader;
  readonly #hits: Uint8Array;
  readonly #noHits: Uint8Array;

  constructor(reader: HistoryReader, filters: FileFilters, tree: BoundTree | undefined, onlySign: OnlySign) {
    this.#reader = reader;
    this.#filters = filters;
    this.#tree = tree;
    this.#onlySign = onlySign;
    this.#hunks = new HunkReader(reader);
    this.#hits = new Uint8Array(tree?.leaves.length ?? 0);
    this.#noHits = new Uint8Array(this.#hits.length);
  }

  /** Whether some changed file passes the path filters. */
  anyPasses(commit: number): boolean {
    const { commitFirstEntry } = this.#reader;
    for (let entry = commitFirstEntry[commit]; entry < commitFirstEntry[commit + 1]; entry++)
      if (this.#passes(entry)) return true;
    return false;
  }

  /** Caller guarantees: the tree's lines are decided up to those of the commit. */
  find(commit: number): FoundFile[] {
    const found: FoundFile[] = [];
    const { commitFirstEntry } = this.#reader;
    for (let entry = commitFirstEntry[commit]; entry < commitFirstEntry[commit + 1]; entry++) {
      if (!this.#passes(entry)) continue;
      const reported = this.#match(entry);
      if (reported !== undefined) found.push({ entry, reported });
    }
    return found;
  }

  #passes(entry: number): boolean {
    return this.#filters.passes(this.#reader.entryInfo[entry] >>> entryPathShift);
  }

  /** Undefined if the file does not satisfy the pattern. */
  #match(entry: number): readonly RecordLeaf[] | undefined {
    const tree = this.#tree;
    if (tree === undefined) return this.#onlySign === undefined || this.#hasSign(entry) ? [] : undefined;
    const hits = this.#findHits(entry, tree);
    if (!tree.holds(hits)) return undefined;
    if (tree.matchesEmpty && !tree.isResult(hits, (leaf) => this.#reportsChange(entry, leaf))) return undefined;
    const satisfied = tree.reported(hits);
    const reported = tree.matchesEmpty ? satisfied.filter((leaf) => this.#reportsChange(entry, leaf)) : satisfied;
    return this.#onlySign === undefined || this.#hasReported(entry, reported) ? reported : undefined;
  }

  /** 1 for each leaf that a changed line of the file matches. */
  #findHits(entry: number, { leaves }: BoundTree): Uint8Array {
    let left = 0;
    for (const leaf of leaves) if (leaf.matchCount > 0) left++;
    if (left === 0) return this.#noHits;
    const hits = this.#hits.fill(0);
    scanEntry(this.#reader, entry, leaves, left, hits);
    return hits;
  }

  #hasSign(entry: number): boolean {
    return this.#someRun(entry, this.#isWanted, () => true);
  }

  #hasReported(entry: number, reported: readonly RecordLeaf[]): boolean {
    return this.#someRun(entry, this.#isWanted, (from, to) => reported.some((leaf) => leaf.reportsAny(from, to)));
  }

  #reportsChange(entry: number, leaf: RecordLeaf): boolean {
    return this.#someRun(entry, isChange, (from, to) => leaf.reportsAny(from, to));
  }

  readonly #isWanted = (sign: number): boolean => sign === (this.#onlySign === "+" ? runSigns.added : runSigns.removed);

  /** Whether the condition holds for some run of lines with such a sign. */
  #someRun(
    entry: number,
    isWanted: (sign: number) => boolean,
    condition: (from: number, to: number) => boolean,
  ): boolean {
    const hunks = this.#hunks;
    hunks.begin(entry);
    while (hunks.nextHunk())
      while (hunks.nextRun()) if (isWanted(hunks.sign) && condition(hunks.first, hunks.end)) return true;
    return false;
  }
}

function isChange(sign: number): boolean {
  return sign !== runSigns.context;
}

/** One of `entryStatus`. */
export function readStatus(reader: HistoryReader, entry: number): number {
  return reader.entryInfo[entry] & entryStatusMask;
}
