import type { Kernel } from "./kernel.js";
import { buildPostings, decodePostings, distinctTrigrams, intersectPostings } from "./portable-postings.js";
import { contentsOfUnits, findLists, unitsOfLists } from "./portable-lists.js";
import { listResults, visibleContents } from "./portable-documents.js";
import { digestResults } from "./portable-digest.js";
import { writeJson } from "./portable-json.js";
import { scanWindows, sortLabels, unitsOfPatterns } from "./portable-patterns.js";
import { encodeResults } from "./portable-results.js";
import { symbolsAtRows } from "./portable-symbol-places.js";
import { copySymbolNames, encodeSymbols, symbolKinds } from "./portable-symbols.js";
import { countNewlines, newlineTable, scan, scanLines } from "./portable-scan.js";

/** The kernel in plain TypeScript: the oracle for tests of the native kernel, and the fallback without a compiler. */
export const portableKernel: Kernel = {
  name: "ts",
  scan,
  scanLines,
  countNewlines,
  newlineTable,
  buildPostings,
  distinctTrigrams,
  decodePostings,
  intersectPostings,
  findLists,
  unitsOfLists,
  contentsOfUnits,
  visibleContents,
  listResults,
  encodeResults,
  digestResults,
  writeJson,
  copySymbolNames,
  symbolKinds,
  symbolsAtRows,
  encodeSymbols,
  scanWindows,
  unitsOfPatterns,
  sortLabels,
};
