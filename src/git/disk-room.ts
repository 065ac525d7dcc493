import { statfsSync } from "node:fs";

/** The reserve is never more than this share of the disk, so that a small disk can be used at all. */
const reserveShareMax = 1 / 20;

/**
 * Why nothing more may be written to the disk of `directory`, as the end of a sentence that begins with who writes; null while more
 * than the reserve is free.
 */
export function lackOfRoom(directory: string, reserveBytes: number): string | null {
  const { bavail, blocks, bsize } = statfsSync(directory);
  const reserve = Math.min(reserveBytes, blocks * bsize * reserveShareMax);
  const freeBytes = bavail * bsize;
  if (freeBytes >= reserve) return null;
  return `was stopped, as the disk of ${directory} has ${mebibytes(freeBytes)} MiB left and ${mebibytes(reserve)} are to stay free; make room, or lower git.reserveBytes`;
}

function mebibytes(bytes: number): number {
  return Math.floor(bytes / (1 << 20));
}
