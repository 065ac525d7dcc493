import { statfsSync, type StatsFs } from "node:fs";
import { statfs } from "node:fs/promises";

/** The reserve is never more than this share of the disk, so that small disks remain usable. */
const reserveShareMax = 1 / 20;

/**
 * Why nothing more may be written to the disk of `directory`, as the end of a sentence that begins with the writer;
 * null while more than the reserve is free.
 */
export function lackOfRoom(directory: string, reserveBytes: number): string | null {
  const { freeBytes, reserve } = computeRoom(statfsSync(directory), reserveBytes);
  if (freeBytes >= reserve) return null;
  return `was stopped, because the disk of ${directory} has ${mebibytes(freeBytes)} MiB left and ${mebibytes(reserve)} are reserved; free disk space, or lower git.reserveBytes`;
}

export interface DiskRoom {
  readonly freeBytes: number;
  readonly sizeBytes: number;
  /** Bytes that must remain free. */
  readonly reserve: number;
}

export async function diskRoom(directory: string, reserveBytes: number): Promise<DiskRoom> {
  return computeRoom(await statfs(directory), reserveBytes);
}

function computeRoom({ bavail, blocks, bsize }: StatsFs, reserveBytes: number): DiskRoom {
  const sizeBytes = blocks * bsize;
  return { freeBytes: bavail * bsize, sizeBytes, reserve: Math.min(reserveBytes, sizeBytes * reserveShareMax) };
}

function mebibytes(bytes: number): number {
  return Math.floor(bytes / (1 << 20));
}
