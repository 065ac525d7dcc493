import { mkdir, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { syncToDisk } from "./sync-to-disk.js";

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
