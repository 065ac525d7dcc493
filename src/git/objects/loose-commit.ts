import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { inflateSync } from "node:zlib";

/** A larger commit is left to git, before and after inflating. */
const commitBytesMax = 1 << 20;

/** `commit SIZE` and a zero byte. */
const headBytesMax = 32;

/**
 * What a commit says that is no part of a pack yet, one byte a character; undefined when there is no such file, or git
 * is to look at it.
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
    // It is in a pack, or nowhere.
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function inflated(packed: Buffer): Buffer | undefined {
  try {
    return inflateSync(packed, { maxOutputLength: commitBytesMax + headBytesMax });
  } catch {
    // Damaged, or larger: git says which.
    return undefined;
  }
}
