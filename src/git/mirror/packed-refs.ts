import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const packedRefsFile = "packed-refs";

const newline = "\n".charCodeAt(0);
const space = " ".charCodeAt(0);
const peeledMark = "^".charCodeAt(0);

/**
 * Whether the file of packed refs is sorted, as it claims to be. git uses binary search in it, and reports lines that
 * it cannot parse, but not a misplaced name, which hides others.
 */
export function arePackedRefsSorted(directory: string): boolean {
  const path = join(directory, packedRefsFile);
  if (!existsSync(path)) return true;
  const bytes = readFileSync(path);
  const headerEnd = bytes.indexOf(newline) + 1;
  const header = bytes.toString("latin1", 0, headerEnd);
  // git itself sorts a file that does not claim to be sorted.
  if (!header.startsWith("#") || !header.includes(" sorted")) return true;
  let [lastStart, lastEnd] = [0, 0];
  for (let at = headerEnd; at < bytes.length; ) {
    const end = bytes.indexOf(newline, at);
    if (end < 0) return false;
    if (bytes[at] !== peeledMark) {
      const start = bytes.indexOf(space, at) + 1;
      if (start === 0 || start > end) return false;
      if (lastEnd > 0 && bytes.compare(bytes, start, end, lastStart, lastEnd) >= 0) return false;
      [lastStart, lastEnd] = [start, end];
    }
    at = end + 1;
  }
  return true;
}
