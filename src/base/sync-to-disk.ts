import { open } from "node:fs/promises";

/** Syncs at a time: a file system takes those of one moment together. */
const parallelCount = 16;

/** Resolves when the disk has what was written to these files, and the names in these directories. */
export async function syncToDisk(paths: readonly string[]): Promise<void> {
  for (let i = 0; i < paths.length; i += parallelCount)
    await Promise.all(paths.slice(i, i + parallelCount).map((path) => syncOne(path)));
}

async function syncOne(path: string): Promise<void> {
  const file = await open(path, "r");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
