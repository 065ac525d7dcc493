import { isAscii } from "node:buffer";
import type { Rows } from "./rows.js";

/** Places in short paths of ASCII, where a column is an offset. */
const locations = Array.from({ length: 256 }, (_, offset) => locationOf(offset, offset));

/** The member `pathMatches` of a result: ranges in its path; columns count code points, and a path is line 0. */
export function pathMatches(path: Buffer, rows: Rows): Buffer {
  const locationAt = isAscii(path)
    ? (offset: number): string => locations[offset] ?? locationOf(offset, offset)
    : (offset: number): string => locationOf(offset, [...path.subarray(0, offset).toString()].length);
  let json = `,"pathMatches":[`;
  for (let i = 0; i < rows.count; i++) {
    json += `${i === 0 ? "" : ","}{"start":${locationAt(rows.words[i * 2])},"end":${locationAt(rows.words[i * 2 + 1])}}`;
  }
  return Buffer.from(`${json}]`, "latin1");
}

function locationOf(offset: number, column: number): string {
  return `{"offset":${offset},"line":0,"column":${column}}`;
}
