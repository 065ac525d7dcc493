import { open, mkdir, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

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

/**
 * Writes a file that only its owner may read, and makes its folder. Whoever reads it finds the previous content or all of this, also
 * after a crash. When it resolves, a crash does not bring the previous content back. Not for two calls at the same time.
 */
export async function replaceFile(path: string, content: string | Buffer): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await writeFile(`${path}.new`, content, { mode: 0o600, flush: true });
  await rename(`${path}.new`, path);
  await syncToDisk([dirname(path)]);
}
