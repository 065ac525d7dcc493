import type { Kernel } from "../../native/kernel/kernel.js";
import type { RegexpAnalysis } from "../../regexp/analysis/analysis.js";
import type { StopCheck } from "../../protocol/stop-check.js";
import type { ShardReader } from "../../shard/shard-reader.js";
import { Rows } from "./rows.js";
import { lastAtMost } from "../../base/sorted-search.js";

export interface PathTester {
  test(document: number): boolean;
}

/** With more literals than this, one pass over the paths per literal costs more than testing every path. */
const scannedLiteralsMax = 8;

/** The kernel returns after this much work, so that the stop flag can be checked. */
const scanBytesMax = 4 * 1024 * 1024;

const kelvinSign = Buffer.from("\u212a");
const longS = Buffer.from("\u017f");

/**
 * One bit per document, set if the regexp matches its path.
 *
 * The kernel searches the list of paths for the regexp's required literals, and RE2 tests the paths that contain one.
 * Sound because a matching path contains a literal of each clause; if case folding could reach outside ASCII, every
 * path is tested. Throws `cancelled` if the search is stopped.
 */
export function matchPaths(
  reader: ShardReader,
  kernel: Kernel,
  analysis: RegexpAnalysis,
  foldCase: boolean,
  tester: PathTester,
  stop: StopCheck,
): Uint8Array {
  const matches = new Uint8Array(reader.documentCount);
  const clause = analysis.clauses.find((literals) => literals.length <= scannedLiteralsMax);
  if (clause === undefined || (foldCase && holdsFoldException(reader.paths))) {
    for (let document = 0; document < reader.documentCount; document++) {
      stop.check();
      if (tester.test(document)) matches[document] = 1;
    }
    return matches;
  }
  const rows = new Rows(64);
  const ranges = Uint32Array.of(0, reader.paths.length, reader.paths.length, 0);
  const cursor = new Uint32Array(4);
  for (const literal of clause) {
    rows.clear();
    cursor.fill(0);
    while (
      !kernel.scanLines(reader.paths, ranges, 1, Buffer.from(literal), foldCase, 0, scanBytesMax, rows.words, cursor)
    ) {
      rows.count = cursor[2];
      if (rows.count * 2 === rows.words.length) rows.grow();
      stop.check();
    }
    rows.count = cursor[2];
    for (let i = 0; i < rows.count; i++) {
      stop.check();
      const document = lastAtMost(reader.pathStart, rows.words[i * 2], reader.documentCount);
      if (matches[document] === 0 && tester.test(document)) matches[document] = 1;
    }
  }
  return matches;
}

/** Whether some path contains a character that folds into ASCII from outside ASCII. */
export function holdsFoldException(paths: Buffer): boolean {
  return paths.includes(kelvinSign) || paths.includes(longS);
}
