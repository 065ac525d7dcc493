import type { ProcessLimits } from "../../native/process/process.js";
import { deltaBaseCacheBytes } from "./environment.js";

const mebibyte = 1 << 20;

/** Enough for the packs of a mirror, of which git keeps as many open as this allows. */
const descriptorCountMax = 1024;

/**
 * For a command that reads a mirror and writes no files.
 *
 * Memory needed by git 2.39 in git's own repository (82,000 commits, 849,000 objects, one pack of 508 MB), as the
 * smallest power of two, or three halves of one, that succeeds: `ls-tree -r` 8 MiB, `log --name-only` 8,
 * `rev-list --count` of everything 32, `archive` 64, `shortlog` of everything 96, `blame` and `diff-tree --patch` over
 * 1,000,000 lines 128. Traversals grow with the number of commits, by about 200 bytes each; the 1.3 million of Linux
 * were not measured.
 */
export const readLimits: ProcessLimits = {
  dataBytesMax: 384 * mebibyte,
  cpuSecondsMax: 300,
  fileBytesMax: 0,
  descriptorCountMax,
};

/**
 * For listing the references of a remote, which may send an endless list: about 800,000 references. Writes only the trace of
 * its requests, see `HttpTrace`.
 */
export const listLimits: ProcessLimits = { ...readLimits, dataBytesMax: 192 * mebibyte, fileBytesMax: 4 * mebibyte };

/**
 * Like `readLimits`, for a command that serves a whole task: many blobs, a whole history, an archive. For Linux each
 * takes 10 to 60 s.
 */
export const longReadLimits: ProcessLimits = { ...readLimits, cpuSecondsMax: 3_600 };

/**
 * Like `longReadLimits`, for a file or an archive that is sent to a client, whose delta may claim to unpack to any
 * size.
 */
export const contentReadLimits: ProcessLimits = { ...longReadLimits, dataBytesMax: 256 * mebibyte };

/**
 * Like `longReadLimits`, for blobs of at most this size, which are deltas based on others of about the same size, and
 * are unpacked together with them; for use with `blobEnvironment`. One such process may run at the same time as one
 * with `contentReadLimits`.
 */
export function blobLimits(contentBytesMax: number): ProcessLimits {
  return {
    ...longReadLimits,
    dataBytesMax: Math.min(readLimits.dataBytesMax, deltaBaseCacheBytes + 32 * mebibyte + 4 * contentBytesMax),
  };
}

/**
 * For a command that receives objects or repacks them. `index-pack` of the repository above takes between 256 and 512
 * MiB of data, of which 200 MiB are caches; the rest grows by 100 bytes per object. Linux has 11 million objects, and
 * was not measured.
 *
 * `cpuSecondsMax` applies to each process: `index-pack` uses two threads, see `pack.threads`.
 */
export function writeLimits(dataBytesMax: number, fileBytesMax: number, timeoutMs: number): ProcessLimits {
  return { dataBytesMax, cpuSecondsMax: 2 * Math.ceil(timeoutMs / 1000), fileBytesMax, descriptorCountMax };
}
