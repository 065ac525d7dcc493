import { open } from "node:fs/promises";

/** Number of concurrent syncs: a file system combines syncs that run at the same time. */
const parallelCount = 16;

/** Resolves when the contents of these files, and the entries of these directories, are durable. */
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
