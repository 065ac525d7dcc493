import type { Kernel } from "../../native/kernel/kernel.js";
import type { StopCheck } from "../../protocol/stop-check.js";
import type { FileFilter, LanguageFilter, PathFilter } from "../../query/plan/pattern-plan.js";
import type { PathTable } from "../../shard/text-index.js";
import { StoppableWork } from "./content-work.js";
import { findVerdicts, passing, failing, keepVerdicts, undecided } from "./filter-verdicts.js";
import { PathFinder } from "./path-finder.js";
import { matchPaths } from "./path-match.js";
import type { Rows } from "./rows.js";

/** A filter bound to one shard. */
interface BoundFilter {
  readonly filter: FileFilter;
  test(document: number): boolean;
  /** By document: 1 if `test` is true; undefined if it is for none. */
  testAll(): Uint8Array | undefined;
  /** Adds what is highlighted in the path of the document; undefined if nothing is. */
  readonly addRows: ((document: number, rows: Rows) => void) | undefined;
}

/** The filters of a basic query on files, such as `file:` and `-lang:`, bound to one shard. */
export class FileFilters {
  readonly #given: readonly FileFilter[];
  readonly #filters: readonly BoundFilter[];
  readonly #reader: PathTable;
  /** By document: `undecided`, `passing` or `failing`. Empty if there are no filters. */
  readonly #verdicts: Uint8Array;
  /** Whether all documents are decided. */
  #isDecided: boolean;

  constructor(filters: readonly FileFilter[], reader: PathTable, kernel: Kernel, stop: StopCheck) {
    this.#given = filters;
    this.#reader = reader;
    const known = filters.length > 0 ? findVerdicts(reader, filters) : undefined;
    this.#isDecided = known !== undefined;
    this.#verdicts = known ?? new Uint8Array(filters.length > 0 ? reader.documentCount : 0);
    this.#filters = filters.map((filter) =>
      filter.kind === "language" ? bindLanguage(filter, reader) : bindPath(filter, reader, kernel, stop),
    );
  }

  get isEmpty(): boolean {
    return this.#filters.length === 0;
  }

  /** True if some filter has path ranges to highlight. */
  get hasHighlights(): boolean {
    return this.#filters.some(({ addRows }) => addRows !== undefined);
  }

  /** Evaluates the filters for all documents at once, which is cheaper if every document will be tested. */
  decideAll(): void {
    if (this.isEmpty || this.#isDecided) return;
    this.#verdicts.fill(passing);
    for (const { filter, testAll } of this.#filters) {
      const matches = testAll();
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
      const passed = this.#filters.every(({ filter, test }) => test(document) !== filter.negated);
      this.#verdicts[document] = passed ? passing : failing;
    }
    return this.#verdicts[document] === passing;
  }

  /** Adds to `rows` the highlighted ranges that the filters match in the document's path. */
  addRows(document: number, rows: Rows): void {
    for (const { addRows } of this.#filters) addRows?.(document, rows);
  }
}

function bindPath(filter: PathFilter, reader: PathTable, kernel: Kernel, stop: StopCheck): BoundFilter {
  const finder = new PathFinder(reader, filter.source, filter.foldCase, new StoppableWork(stop));
  return {
    filter,
    test: (document) => finder.test(document),
    testAll: () => matchPaths(reader, kernel, filter, finder, stop),
    addRows: filter.highlighted && !filter.negated ? (document, rows) => finder.findAll(document, rows) : undefined,
  };
}

function bindLanguage(filter: LanguageFilter, reader: PathTable): BoundFilter {
  const wanted = reader.languages().indexOf(filter.language);
  const test = (document: number): boolean => reader.languageNumber(document) === wanted;
  return {
    filter,
    test,
    testAll: () =>
      wanted < 0
        ? undefined
        : Uint8Array.from({ length: reader.documentCount }, (_, document) => Number(test(document))),
    addRows: undefined,
  };
}
