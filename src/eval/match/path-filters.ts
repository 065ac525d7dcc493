import type { Kernel } from "../../native/kernel/kernel.js";
import type { StopCheck } from "../../protocol/stop-check.js";
import type { PathFilter } from "../../query/plan/plan.js";
import type { PathTable } from "../../shard/text-index.js";
import { StoppableWork } from "./content-work.js";
import { findVerdicts, passing, failing, keepVerdicts, undecided } from "./filter-verdicts.js";
import { PathFinder } from "./path-finder.js";
import { matchPaths } from "./path-match.js";
import type { Rows } from "./rows.js";

interface BoundFilter {
  readonly filter: PathFilter;
  readonly finder: PathFinder;
}

/** The path filters of a basic query, such as `file:` and `-file:`, bound to one shard. */
export class PathFilters {
  readonly #given: readonly PathFilter[];
  readonly #filters: readonly BoundFilter[];
  readonly #reader: PathTable;
  readonly #kernel: Kernel;
  readonly #stop: StopCheck;
  /** By document: `undecided`, `passing` or `failing`. Empty if there are no filters. */
  readonly #verdicts: Uint8Array;
  /** Whether all documents are decided. */
  #isDecided: boolean;

  constructor(filters: readonly PathFilter[], reader: PathTable, kernel: Kernel, stop: StopCheck) {
    this.#given = filters;
    this.#reader = reader;
    this.#kernel = kernel;
    this.#stop = stop;
    const known = filters.length > 0 ? findVerdicts(reader, filters) : undefined;
    this.#isDecided = known !== undefined;
    this.#verdicts = known ?? new Uint8Array(filters.length > 0 ? reader.documentCount : 0);
    this.#filters = filters.map((filter) => ({
      filter,
      finder: new PathFinder(reader, filter.source, filter.foldCase, new StoppableWork(stop)),
    }));
  }

  get isEmpty(): boolean {
    return this.#filters.length === 0;
  }

  /** True if some filter has path ranges to highlight. */
  get hasHighlights(): boolean {
    return this.#filters.some(({ filter }) => filter.highlighted);
  }

  /** Evaluates the filters for all paths at once, which is cheaper if every document will be tested. */
  decideAll(): void {
    if (this.isEmpty || this.#isDecided) return;
    this.#verdicts.fill(passing);
    for (const { filter, finder } of this.#filters) {
      const matches = matchPaths(this.#reader, this.#kernel, filter, finder, this.#stop);
      if (matches === undefined) {
        if (!filter.negated) this.#verdicts.fill(failing);
        continue;
      }
      const failed = filter.negated ? 1 : 0;
      for (let document = 0; document < matches.length; document++) {
        if (matches[document] === failed) this.#verdicts[document] = failing;
      }
    }
    this.#isDecided = true;
    keepVerdicts(this.#reader, this.#given, this.#verdicts);
  }

  /** Whether the document passes all filters. */
  passes(document: number): boolean {
    if (this.#filters.length === 0) return true;
    if (this.#verdicts[document] === undecided) {
      const passed = this.#filters.every(({ filter, finder }) => finder.test(document) !== filter.negated);
      this.#verdicts[document] = passed ? passing : failing;
    }
    return this.#verdicts[document] === passing;
  }

  /** Adds to `rows` the highlighted ranges that the filters match in the document's path. */
  addRows(document: number, rows: Rows): void {
    for (const { filter, finder } of this.#filters)
      if (filter.highlighted && !filter.negated) finder.findAll(document, rows);
  }
}
