import { BoundedMap } from "../base/bounded-map.js";
import type { RepositoryTable } from "../catalog/repository-table.js";
import type { RepositoryFact } from "../query/plan.js";
import { compileRegexp } from "../regexp/compile.js";
import type { Matcher } from "../regexp/matcher.js";
import { compileFact } from "./repository-fact.js";

/** One match in so many names, or more, is dense: asking each name alone is cheaper then than going from match to match. */
const denseEvery = 4;

/** So many marks are kept of a table, a byte for each repository and regexp: 1,600 regexps over 10,000 repositories. */
const keptBytesMax = 16 * 1024 * 1024;

/** What is asked counts as so many bytes, beside its marks: it bounds how much is kept of a small table. */
const questionBytes = 256;

/** By table, then by what is asked. They go with the table. */
const keptMarks = new WeakMap<RepositoryTable, BoundedMap<string, Uint8Array>>();

/** Marks with 1, by place, the repositories whose name matches. They are kept, so to ask again costs nothing. */
export function matchingNames(table: RepositoryTable, source: string, foldCase: boolean): Uint8Array {
  return keepMarks(table, keyOf(source, foldCase), () => scanNames(table, compileRegexp(source, foldCase)));
}

/** Marks with 1, by place, the repositories of which the predicate holds before it is negated. They are kept, too. */
export function matchingFacts(table: RepositoryTable, fact: RepositoryFact): Uint8Array {
  return keepMarks(table, `fact ${fact.label}`, () => {
    const holds = compileFact(table, fact);
    const marks = new Uint8Array(table.count);
    for (let place = 0; place < table.count; place++) marks[place] = holds(place) ? 1 : 0;
    return marks;
  });
}

function keepMarks(table: RepositoryTable, key: string, make: () => Uint8Array): Uint8Array {
  const kept = keptOf(table);
  const known = kept.get(key);
  if (known !== undefined) return known;
  const marks = make();
  kept.set(key, marks);
  return marks;
}

/** Whether asking for these names costs next to nothing. */
export function isKept(table: RepositoryTable, source: string, foldCase: boolean): boolean {
  return keptOf(table).get(keyOf(source, foldCase)) !== undefined;
}

/** Tells of a place whether its name matches, in the cheaper way when about so many places will be asked. */
export function nameTest(table: RepositoryTable, source: string, foldCase: boolean, askedCount: number): (place: number) => boolean {
  if (askedCount * 16 < table.count && !isKept(table, source, foldCase)) {
    const matcher = compileRegexp(source, foldCase);
    return (place) => matcher.test(table.nameAt(place));
  }
  const marks = matchingNames(table, source, foldCase);
  return (place) => marks[place] === 1;
}

/**
 * All names are searched as one text, so that a pattern that few names match costs one pass over it. That misses
 * nothing: what matches a name alone matches it there too, as `^`, `$` and `\b` hold beside a newline. A match found there
 * may reach over a newline, so the name is asked alone as well; from the first that fails on, and where matches are
 * dense, each name is asked alone. Measured with 10,000 names: 0.1 to 0.7 ms for a rare pattern, 1.5 to 2 ms for one that
 * matches all.
 */
function scanNames(table: RepositoryTable, matcher: Matcher): Uint8Array {
  const marks = new Uint8Array(table.count);
  let place = 0;
  if (matcher.isLocal) {
    for (let matchCount = 0; place < table.count; matchCount++) {
      if (matchCount > 16 && matchCount * denseEvery > place) break;
      const start = matcher.startFrom(table.names, table.nameStart[place]);
      // An empty match may stand behind the last newline.
      if (start < 0 || start >= table.names.length) return marks;
      place = table.placeAtByte(start, place);
      if (!matcher.test(table.nameAt(place))) break;
      marks[place++] = 1;
    }
  }
  for (; place < table.count; place++) marks[place] = matcher.test(table.nameAt(place)) ? 1 : 0;
  return marks;
}

function keptOf(table: RepositoryTable): BoundedMap<string, Uint8Array> {
  const kept = keptMarks.get(table) ?? new BoundedMap<string, Uint8Array>(keptBytesMax, (marks) => questionBytes + marks.length);
  keptMarks.set(table, kept);
  return kept;
}

function keyOf(source: string, foldCase: boolean): string {
  return `${foldCase ? "i" : "c"} ${source}`;
}
