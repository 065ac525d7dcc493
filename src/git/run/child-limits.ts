import type { ProcessLimits } from "../../native/process/process.js";
import { deltaBaseCacheBytes } from "./environment.js";

const mebibyte = 1 << 20;

/** Enough for the packs of a mirror, of which git holds as many open as this allows. */
const descriptorCountMax = 1024;

/**
 * For a command that reads a mirror, and writes no file.
 *
 * Memory needed by git 2.39 in git's own repository (82,000 commits, 849,000 objects, one pack of 508 MB), the least
 * power of two or its half more that succeeds: `ls-tree -r` 8 MiB, `log --name-only` 8, `rev-list --count` of all 32,
 * `archive` 64, `shortlog` of all 96, `blame` and `diff-tree --patch` over 1,000,000 lines 128. Walks grow with the
 * commits, by some 200 bytes each; the 1.3 million of Linux were not measured.
 */
export const readLimits: ProcessLimits = {
  dataBytesMax: 384 * mebibyte,
  cpuSecondsMax: 300,
  fileBytesMax: 0,
  descriptorCountMax,
};

/** For a list of what a remote has, which it may make endless: about 800,000 references. */
export const listLimits: ProcessLimits = { ...readLimits, dataBytesMax: 192 * mebibyte };

/**
 * As `readLimits` for a command that serves a whole task: many blobs, a whole history, an archive. Linux takes 10 to 60
 * s of each.
 */
export const longReadLimits: ProcessLimits = { ...readLimits, cpuSecondsMax: 3_600 };

/** The same for a file or an archive that goes to a client, whose delta may claim to unpack to anything. */
export const contentReadLimits: ProcessLimits = { ...longReadLimits, dataBytesMax: 256 * mebibyte };

/**
 * The same for blobs of at most this size, which are deltas on others of about the size, and are unpacked beside them;
 * with `blobEnvironment`. One such process may run beside one with `contentReadLimits`.
 */
export function blobLimits(contentBytesMax: number): ProcessLimits {
  return {
    ...longReadLimits,
    dataBytesMax: Math.min(readLimits.dataBytesMax, deltaBaseCacheBytes + 32 * mebibyte + 4 * contentBytesMax),
  };
}

/**
 * For a command that takes objects in or repacks them. `index-pack` of the repository above takes between 256 and 512
 * MiB of data, of which 200 MiB are caches; the rest grows by 100 bytes an object. Linux has 11 million, and was not
 * measured.
 *
 * `cpuSecondsMax` is of each process: `index-pack` uses two threads, see `pack.threads`.
 */
export function writeLimits(dataBytesMax: number, fileBytesMax: number, timeoutMs: number): ProcessLimits {
  return { dataBytesMax, cpuSecondsMax: 2 * Math.ceil(timeoutMs / 1000), fileBytesMax, descriptorCountMax };
}
