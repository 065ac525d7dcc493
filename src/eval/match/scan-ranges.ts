import { gallop } from "../../base/sorted-search.js";
import type { TextIndex } from "../../shard/text-index.js";
import type { LeafPlan } from "./leaf-plan.js";

/**
 * The ranges of a shard's text that the kernel scans for one literal in one block of contents: the units that can
 * contain the literal, with adjacent ones joined.
 *
 * Contract: `fill` is called for each scan of the plan with ascending contents, over all calls.
 */
export class ScanRanges {
  /** `width` words per range: `from`, `to`, `end` of the content and, if `width` is 4, its start. */
  words = new Uint32Array(256);
  /** Number of ranges. */
  count = 0;
  /** Total size of all ranges, over all calls. */
  byteCount = 0;
  readonly #plan: LeafPlan;
  readonly #reader: TextIndex;
  /** For each scan of the plan, where its units of the next contents begin. */
  readonly #unitCursors: number[];

  constructor(plan: LeafPlan, reader: TextIndex) {
    this.#plan = plan;
    this.#reader = reader;
    this.#unitCursors = plan.scans.map(() => 0);
  }

  /** The next contents may be before those of the last call. */
  rewind(): void {
    this.#unitCursors.fill(0);
  }

  /**
   * Computes the ranges of scan `scanNumber` in `contents`. Exceptions are excluded, because they are searched
   * completely. The ones before index `exceptionFrom` precede `contents`.
   */
  fill(contents: Uint32Array, scanNumber: number, width: 3 | 4, exceptionFrom: number): void {
    const reader = this.#reader;
    const { exceptions, scans } = this.#plan;
    const { units } = scans[scanNumber];
    let exceptionCursor = exceptionFrom;
    this.count = 0;
    for (const content of contents) {
      if (content >= reader.contentCount) continue;
      while (exceptionCursor < exceptions.length && exceptions[exceptionCursor] < content) exceptionCursor++;
      if (exceptions[exceptionCursor] === content) continue;
      const start = reader.contentStart[content];
      const end = reader.contentStart[content + 1];
      if (units === undefined) this.#add(width, start, end, end, start);
      else this.#addUnits(units, scanNumber, content, start, end, width);
    }
  }

  #addUnits(units: Uint32Array, scanNumber: number, content: number, start: number, end: number, width: 3 | 4): void {
    const { unitBytes } = this.#reader;
    const firstUnit = this.#reader.contentFirstUnit[content];
    const endUnit = this.#reader.contentFirstUnit[content + 1];
    let at = gallop(units, this.#unitCursors[scanNumber], firstUnit, units.length);
    while (at < units.length && units[at] < endUnit) {
      const from = units[at++];
      let to = from + 1;
      while (at < units.length && units[at] === to && to < endUnit) {
        at++;
        to++;
      }
      this.#add(
        width,
        start + (from - firstUnit) * unitBytes,
        Math.min(end, start + (to - firstUnit) * unitBytes),
        end,
        start,
      );
    }
    this.#unitCursors[scanNumber] = at;
  }

  #add(width: 3 | 4, from: number, to: number, end: number, floor: number): void {
    const at = this.count * width;
    if (at + width > this.words.length) {
      const grown = new Uint32Array(this.words.length * 2);
      grown.set(this.words);
      this.words = grown;
    }
    this.words[at] = from;
    this.words[at + 1] = to;
    this.words[at + 2] = end;
    if (width === 4) this.words[at + 3] = floor;
    this.count++;
    this.byteCount += to - from;
  }
}
