import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { inflateSync } from "node:zlib";

/** A commit that is larger, before or after decompression, is left to git. */
const commitBytesMax = 1 << 20;

/** `commit SIZE` and a zero byte. */
const headBytesMax = 32;

/**
 * The text of a commit that is not in a pack yet, one character per byte; undefined if there is no such file, or if it
 * must be read with git.
 */
export function readLooseCommit(directory: string, oid: string): string | undefined {
  const packed = readSmallFile(join(directory, "objects", oid.slice(0, 2), oid.slice(2)));
  const text = packed === undefined ? undefined : inflated(packed)?.toString("latin1");
  const head = text?.slice(0, headBytesMax).split("\0", 1)[0] ?? "";
  const isWhole = text !== undefined && head === `commit ${text.length - head.length - 1}`;
  return isWhole ? text.slice(head.length + 1) : undefined;
}

function readSmallFile(path: string): Buffer | undefined {
  let file: number | undefined;
  try {
    file = openSync(path, "r");
    const { size } = fstatSync(file);
    if (size > commitBytesMax) return undefined;
    const bytes = Buffer.alloc(size);
    return bytes.subarray(0, readSync(file, bytes));
  } catch {
    // It is in a pack, or does not exist.
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function inflated(packed: Buffer): Buffer | undefined {
  try {
    return inflateSync(packed, { maxOutputLength: commitBytesMax + headBytesMax });
  } catch {
    // Damaged or larger: git determines which.
    return undefined;
  }
}
