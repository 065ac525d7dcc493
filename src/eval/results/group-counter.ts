import { decodePath, shownPath } from "../../base/path-text.js";
import { increase } from "../../protocol/result-batch.js";
import { onlyLeaf } from "../../query/plan/plan.js";
import type { SearchOptions } from "../../protocol/search-options.js";
import { Capture } from "../../regexp/match/capture.js";
import type { ShardReader } from "../../shard/shard-reader.js";
import type { Rows } from "../match/rows.js";

/** A batch is sent when it counts so many groups. */
const groupsOfBatch = 1_000;

/** Longer values are cut, so that a group stays small. */
const valueBytesMax = 1000;

/** In a longer match nothing is captured: a call of RE2 cannot be interrupted. */
const matchBytesMax = 64 * 1024;

/** So many matches of at most so many bytes are remembered. */
const keptCountMax = 4096;
const keptBytesMax = 200;

/** Counts the matches of one slice by the paths of their files, or by what the first group of a regexp captures. */
export class GroupCounter {
  /** Undefined if paths are counted. */
  readonly #capture: Capture | undefined;
  /**
   * What was captured in a match with this byte before it; null for nothing. To look it up takes a tenth of the time of RE2,
   * and most matches are like an earlier one.
   */
  readonly #inText = new Map<string, string | null>();
  /** The same for matches at the start of a text. */
  readonly #atStart = new Map<string, string | null>();

  constructor({ plan, group }: Pick<SearchOptions, "plan" | "group">) {
    const leaf = group === "capture" ? onlyLeaf(plan) : undefined;
    if (leaf !== undefined) this.#capture = new Capture(leaf.source, leaf.foldCase);
  }

  /**
   * Adds `count` matches of a document, whose rows begin at `rowFrom`; without rows, the document is a result by its path.
   * Returns whether there are many groups.
   */
  add(
    counts: Map<string, number>,
    reader: ShardReader,
    document: number,
    { words }: Rows,
    rowFrom: number,
    count: number,
    hasRows: boolean,
  ): boolean {
    if (this.#capture === undefined) increase(counts, shownPath(decodePath(reader.path(document))), count);
    else if (hasRows) {
      const textFrom = reader.contentStart[reader.contentId(document)];
      for (let row = rowFrom; row < rowFrom + count; row++)
        this.#addRow(counts, reader.content, textFrom, words[2 * row], words[2 * row + 1]);
    }
    return counts.size >= groupsOfBatch;
  }

  #addRow(counts: Map<string, number>, content: Buffer, textFrom: number, from: number, to: number): void {
    if (to - from > matchBytesMax) return;
    const start = Math.max(textFrom, from - 1);
    if (to - start > keptBytesMax) return addFound(counts, this.#find(content.subarray(start, to), from - start));
    const text = content.toString("latin1", start, to);
    const known = from === start ? this.#atStart : this.#inText;
    let value = known.get(text);
    if (value === undefined) {
      if (known.size >= keptCountMax) known.clear();
      known.set(text, (value = this.#find(content.subarray(start, to), from - start) ?? null));
    }
    addFound(counts, value ?? undefined);
  }

  #find(text: Buffer, from: number): string | undefined {
    const value = this.#capture?.find(text, from);
    return value && cutValue(value);
  }
}

function addFound(counts: Map<string, number>, value: string | undefined): void {
  if (value !== undefined) increase(counts, value, 1);
}

function cutValue(value: Buffer): string {
  return value.length <= valueBytesMax ? value.toString() : `${value.toString("utf8", 0, valueBytesMax)}…`;
}
