import { BoundedMap } from "../../base/bounded-map.js";
import type { FileFilter } from "../../query/plan/pattern-plan.js";
import type { PathTable } from "../../shard/text-index.js";

/** What filters say about a document. */
export const undecided = 0;
export const passing = 1;
export const failing = 2;

/** For each thread: the filters of four searches on the shards of Linux take 0.3 MB. */
const verdictBytesMax = 8 * 1024 * 1024;

/** What an entry takes besides the verdicts. */
const entryBytes = 256;

const known = new BoundedMap<string, Uint8Array>(verdictBytesMax, ({ length }) => length + entryBytes);

/** Readers are not kept alive by what is known about them. */
const numbers = new WeakMap<PathTable, number>();
let lastNumber = 0;

/**
 * One verdict for each document of the shard, if these filters were decided for all of them before. Valid as long as the
 * reader: its documents do not change. A filter on the paths of a search of JavaScript packages takes 5 ms, which is more
 * than the rest of the search.
 */
export function findVerdicts(reader: PathTable, filters: readonly FileFilter[]): Uint8Array | undefined {
  const number = numbers.get(reader);
  return number === undefined ? undefined : known.get(describeFilters(number, filters));
}

/** The verdicts must not change any more. */
export function keepVerdicts(reader: PathTable, filters: readonly FileFilter[], verdicts: Uint8Array): void {
  let number = numbers.get(reader);
  if (number === undefined) numbers.set(reader, (number = ++lastNumber));
  known.set(describeFilters(number, filters), verdicts);
}

/** One list of filters is bound to many shards. */
const keys = new WeakMap<readonly FileFilter[], string>();

function describeFilters(reader: number, filters: readonly FileFilter[]): string {
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
  return `${reader} ${key}`;
}
