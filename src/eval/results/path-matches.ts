import { isAscii } from "node:buffer";
import type { Rows } from "../match/rows.js";

/** Up to this path length, the JSON of locations is precomputed. */
const shortPathBytesMax = 256;

/** Locations in short ASCII paths, in which a column is an offset. */
const locations = Array.from({ length: shortPathBytesMax + 1 }, (_, offset) => locationJson(offset, offset));

/** Each byte of a short path as a range, followed by a comma: `file:.` has so many that their JSON is copied. */
const bytesJson = Array.from(
  { length: shortPathBytesMax },
  (_, offset) => `${rangeJson(locations[offset], locations[offset + 1])},`,
);
const allBytesJson = bytesJson.join("");
const byteStarts = [0];
for (const json of bytesJson) byteStarts.push(byteStarts[byteStarts.length - 1] + json.length);

/**
 * The member `pathMatches` of a result, in ASCII: ranges in its path; columns count code points, and a path is line 0.
 */
export function pathMatches(path: Buffer, rows: Rows): string {
  return `,"pathMatches":[${isAscii(path) ? rangesInAscii(path.length, rows) : rangesIn(path, rows)}]`;
}

/**
 * A number for the ranges, equal only for equal ranges, if they are a single byte or all bytes of a plain path;
 * otherwise undefined. The JSON of such ranges depends on nothing else.
 */
export function keyOfPathRows({ words, count }: Rows): number | undefined {
  if (count === 1) return words[0] * 2 ** 20 + words[1];
  return words[0] === 0 && isOfSingleBytes(words, count) ? -count : undefined;
}

function rangesInAscii(length: number, { words, count }: Rows): string {
  if (length <= shortPathBytesMax && isOfSingleBytes(words, count))
    return allBytesJson.slice(byteStarts[words[0]], byteStarts[words[0] + count] - 1);
  const locationAt = (offset: number): string => locations[offset] ?? locationJson(offset, offset);
  let json = "";
  for (let i = 0; i < count; i++)
    json += `${i === 0 ? "" : ","}${rangeJson(locationAt(words[i * 2]), locationAt(words[i * 2 + 1]))}`;
  return json;
}

/** Whether the ranges, one or more, are adjacent single bytes. */
function isOfSingleBytes(words: Uint32Array, count: number): boolean {
  for (let i = 0; i < count; i++)
    if (words[i * 2] !== words[0] + i || words[i * 2 + 1] !== words[0] + i + 1) return false;
  return true;
}

function rangesIn(path: Buffer, { words, count }: Rows): string {
  const locationAt = (offset: number): string => locationJson(offset, [...path.subarray(0, offset).toString()].length);
  return Array.from({ length: count }, (_, i) =>
    rangeJson(locationAt(words[i * 2]), locationAt(words[i * 2 + 1])),
  ).join(",");
}

function rangeJson(start: string, end: string): string {
  return `{"start":${start},"end":${end}}`;
}

function locationJson(offset: number, column: number): string {
  return `{"offset":${offset},"line":0,"column":${column}}`;
}
