import { cursorWords, type Kernel } from "../../native/kernel/kernel.js";
import { requiredLiterals } from "../../query/plan/leaf-literals.js";
import type { Leaf, PathFilter } from "../../query/plan/plan.js";
import type { StopCheck } from "../../protocol/stop-check.js";
import type { PathTable } from "../../shard/text-index.js";
import { scanBytesMax } from "./content-work.js";
import { findPathTrigrams, holdsFoldException } from "./path-trigrams.js";
import { Rows } from "./rows.js";
import { lastAtMost } from "../../base/sorted-search.js";

export interface PathTester {
  test(document: number): boolean;
}

/** With more literals than this, one pass over the paths per literal costs more than testing every path. */
const scannedLiteralsMax = 8;

/** A condition on the text of a path. */
export type PathCondition = Pick<Leaf | PathFilter, "analysis" | "foldCase">;

/**
 * One byte per document, 1 if the regexp matches its path; undefined if it matches none.
 *
 * The kernel searches the list of paths for the regexp's required literals, and RE2 tests the paths that contain one.
 * Sound because a matching path contains a literal of each clause; if case folding could reach outside ASCII, every
 * path is tested. Throws `cancelled` if the search is stopped.
 */
export function matchPaths(
  reader: PathTable,
  kernel: Kernel,
  condition: PathCondition,
  tester: PathTester,
  stop: StopCheck,
): Uint8Array | undefined {
  const { clauses, foldsOutsideAscii } = requiredLiterals(condition);
  const { foldCase } = condition;
  const trigrams = findPathTrigrams(reader);
  const reachesFurther = foldsOutsideAscii && (trigrams?.hasFoldException ?? holdsFoldException(reader.paths));
  if (trigrams !== undefined && !reachesFurther)
    if (clauses.some((literals) => literals.every((literal) => !trigrams.mayContain(literal)))) return undefined;
  let matches: Uint8Array | undefined;
  const test = (document: number): void => {
    stop.check();
    if (matches?.[document] === 1 || !tester.test(document)) return;
    matches ??= new Uint8Array(reader.documentCount);
    matches[document] = 1;
  };
  const clause = clauses.find(
    (literals) => literals.length <= scannedLiteralsMax && literals.every((literal) => literal.length > 0),
  );
  if (clause === undefined || reachesFurther) {
    for (let document = 0; document < reader.documentCount; document++) test(document);
    return matches;
  }
  const rows = new Rows(64);
  const ranges = Uint32Array.of(0, reader.paths.length, reader.paths.length, 0);
  const cursor = new Uint32Array(4);
  for (const literal of clause) {
    rows.clear();
    cursor.fill(0);
    while (!kernel.scanLines(reader.paths, ranges, 1, literal, foldCase, 0, scanBytesMax, rows.words, cursor)) {
      rows.count = cursor[cursorWords.rows];
      if (rows.count * 2 === rows.words.length) rows.grow();
      stop.check();
    }
    rows.count = cursor[cursorWords.rows];
    for (let i = 0; i < rows.count; i++) test(lastAtMost(reader.pathStart, rows.words[i * 2], reader.documentCount));
  }
  return matches;
}
