import type { ControlBlock } from "../../protocol/control-block.js";
import type { SearchOptions } from "../../protocol/search-options.js";

/** The limits on the matches of all slices of a search together. */
export class MatchLimits {
  readonly #control: ControlBlock;
  readonly #countMax: number;
  readonly #displayMax: number;

  constructor(control: ControlBlock, { matchCountMax, displayCountMax }: SearchOptions) {
    this.#control = control;
    this.#countMax = matchCountMax;
    this.#displayMax = displayCountMax;
  }

  /** Matches that can be counted until the limit. */
  get left(): number {
    return this.#countMax - this.#control.matchCount;
  }

  /** Counts up to `wanted` matches of what the limit leaves; stops the search when that is less. */
  count(wanted: number): number {
    const before = this.#control.addMatches(wanted);
    const left = this.#countMax - before;
    if (left < wanted) this.#control.stopAtLimit();
    return Math.max(0, Math.min(wanted, left));
  }

  /** Counts `wanted` matches if the limit leaves as many; otherwise returns false. */
  countAll(wanted: number): boolean {
    return this.#control.addMatchesWithin(wanted, this.#countMax);
  }

  /** How many of these counted matches may be written. */
  show(wanted: number): number {
    const left = this.#displayMax - this.#control.addDisplayed(wanted);
    return Math.max(0, Math.min(wanted, left));
  }
}
