import type { Kernel } from "../../native/kernel/kernel.js";
import type { StopCheck } from "../../protocol/control-block.js";
import type { FileFilter, LanguageFilter, PathFilter } from "../../query/plan/plan.js";
import type { PathTable } from "../../shard/text-sections.js";
import { StoppableWork } from "./content-scan.js";
import { matchPaths, PathFinder } from "./path-match.js";
import type { Rows } from "./rows.js";
import { BoundedMap } from "../../base/bounded-map.js";

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

  /**
   * Whether the verdicts on all documents are known, or worth being decided for searches that need few of them, because this was asked
   * often of the same filters. To decide all paths of a shard takes some milliseconds, and what it saves is a tenth of that.
   */
  areRepeated(): boolean {
    if (this.#isDecided) return true;
    const key = describeFilters(this.#reader, this.#given);
    const count = (asked.get(key) ?? 0) + 1;
    asked.set(key, count);
    return count >= repeatedMin;
  }

  /** By document: `passing` if it passes all filters. Undefined without filters. */
  verdicts(): Uint8Array | undefined {
    this.decideAll();
    return this.isEmpty ? undefined : this.#verdicts;
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

/** What filters say about a document. */
const undecided = 0;
const passing = 1;
const failing = 2;

/** For each thread: the filters of four searches on the shards of Linux take 0.3 MB. */
const verdictBytesMax = 8 * 1024 * 1024;

/** What an entry takes besides the verdicts. */
const entryBytes = 256;

const known = new BoundedMap<string, Uint8Array>(verdictBytesMax, ({ length }) => length + entryBytes);

const repeatedMin = 8;

/** For each thread: filters of a shard, of which it is known how often they were asked for. */
const askedCountMax = 4096;

const asked = new BoundedMap<string, number>(askedCountMax, () => 1);

/** Readers are not kept alive by what is known about them. */
const numbers = new WeakMap<PathTable, number>();
let lastNumber = 0;

/**
 * One verdict for each document of the shard, if these filters were decided for all of them before. Valid as long as the
 * reader: its documents do not change. A filter on the paths of a search of JavaScript packages takes 5 ms, which is more
 * than the rest of the search.
 */
function findVerdicts(reader: PathTable, filters: readonly FileFilter[]): Uint8Array | undefined {
  return known.get(describeFilters(reader, filters));
}

/** The verdicts must not change any more. */
function keepVerdicts(reader: PathTable, filters: readonly FileFilter[], verdicts: Uint8Array): void {
  known.set(describeFilters(reader, filters), verdicts);
}

/** One list of filters is bound to many shards. */
const keys = new WeakMap<readonly FileFilter[], string>();

function describeFilters(reader: PathTable, filters: readonly FileFilter[]): string {
  let number = numbers.get(reader);
  if (number === undefined) numbers.set(reader, (number = ++lastNumber));
  let key = keys.get(filters);
  if (key === undefined) {
    key = JSON.stringify(
      filters.map((filter) =>
        filter.kind === "language"
          ? [filter.negated, filter.language]
          : [filter.negated, filter.foldCase, filter.source],
      ),
    );
    keys.set(filters, key);
  }
  return `${number} ${key}`;
}
