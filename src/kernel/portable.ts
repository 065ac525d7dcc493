import { utf8Bytes } from "../base/bytes.js";
import type { Kernel } from "./kernel.js";
import { encodeChunkMatches } from "./portable-chunk-matches.js";
import { JsonWriter } from "./portable-json.js";
import { encodeLineMatches } from "./portable-line-matches.js";
import { buildPostings, decodePostings, distinctTrigrams, intersectPostings } from "./portable-postings.js";
import { countNewlines, newlineTable, scan, scanLines } from "./portable-scan.js";

const quote = utf8Bytes('"');

function encodeString(text: Uint8Array, from: number, to: number, out: Uint8Array, outFrom: number): number {
  const json = new JsonWriter(out, outFrom);
  json.raw(quote);
  json.string(text, from, to);
  json.raw(quote);
  return json.at;
}

/** The kernel in plain TypeScript: the oracle of the native one, and what runs where there is no compiler. */
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
  encodeLineMatches,
  encodeChunkMatches,
  encodeString,
};
