import { entryPathShift, entryStatusMask, runSignBits, runSigns } from "../../history/format.js";
import { type HistoryReader, HunkReader } from "../../history/history-reader.js";
import type { FileFilters } from "../match/file-filters.js";
import type { BoundTree } from "./bound-tree.js";
import type { RecordLeaf } from "./record-leaf.js";

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

/**
 * Sets `hits[i]` to 1 if a changed line of the entry matches leaf i; returns early when all `wantedCount` leaves that
 * can match do. The same as reading the runs with `HunkReader`, as one loop over local variables, which takes a third
 * of the time: a search of a whole history spends most of its time here.
 *
 * In damaged hunks, runs of lines that do not exist are skipped; `HunkReader` reports them when a result is written.
 */
function scanEntry(
  reader: HistoryReader,
  entry: number,
  leaves: readonly RecordLeaf[],
  wantedCount: number,
  hits: Uint8Array,
): void {
  const { hunks } = reader;
  const to = reader.entryStart[entry + 1];
  let at = reader.entryStart[entry];
  let next = reader.entryFirstLine[entry];
  let last = next - 1;
  let left = wantedCount;
  /** The next number is 0: the gap before a hunk, 1: its heading, 2: the head of a run, 3: the first line of the run. */
  let part = 0;
  let length = 0;
  let isChanged = false;
  while (at < to) {
    let value = hunks[at++];
    if (value >= 0x80) {
      value &= 0x7f;
      for (let shift = 7; at < to && shift < 32; shift += 7) {
        const byte = hunks[at++];
        value |= (byte & 0x7f) << shift;
        if (byte < 0x80) break;
      }
      value >>>= 0;
    }
    if (part === 2) {
      if (value === 0) {
        part = 0;
        continue;
      }
      length = value >>> runSignBits;
      isChanged = (value & ((1 << runSignBits) - 1)) !== runSigns.context;
      part = 3;
      continue;
    }
    if (part === 0) {
      part = 1;
      continue;
    }
    const isHeading = part === 1;
    part = 2;
    if (isHeading && value === 0) continue;
    const code = isHeading ? value - 1 : value;
    let first = last + 1;
    if (code === 1) first = next;
    else if (code > 1) first += (code & 1) === 1 ? code >>> 1 : -(code >>> 1);
    const end = isHeading ? first + 1 : first + length;
    if (end > next) next = end;
    if (isHeading) continue;
    last = end - 1;
    if (!isChanged || first < 0 || end <= first || end > reader.lineCount) continue;
    for (let i = 0; i < leaves.length; i++) {
      if (hits[i] === 1 || !leaves[i].hasAny(first, end)) continue;
      hits[i] = 1;
      if (--left === 0) return;
    }
  }
}
