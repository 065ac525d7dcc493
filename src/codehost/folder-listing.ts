import type { Dirent } from "node:fs";
import { access, readdir } from "node:fs/promises";
import { join, relative } from "node:path";
import { errorMessage, TrawlError } from "../base/errors.js";
import { withoutSuffix } from "../base/text.js";
import { type ConnectionConfig, type ListedRepository, plainRepository } from "./connection.js";

/** Repositories may be in folders of folders: host, owner, group. */
const depthMax = 5;
const foldersMax = 100_000;

/** Finds the repositories below a folder, bare or with a work tree. Symbolic links are not followed. */
export async function listFolder(
  { url: root, maxRepositories }: ConnectionConfig,
  signal: AbortSignal,
): Promise<readonly ListedRepository[]> {
  const found: ListedRepository[] = [];
  const waiting: { readonly path: string; readonly depth: number }[] = [{ path: root, depth: 0 }];
  for (let count = 0; ; count++) {
    signal.throwIfAborted();
    const next = waiting.pop();
    if (next === undefined) return found.sort((a, b) => (a.name < b.name ? -1 : 1));
    if (count >= foldersMax) throw new TrawlError("bad-config", `${root} has more than ${foldersMax} folders`);
    if (next.depth > 0 && (await isRepository(next.path))) {
      if (found.length >= maxRepositories)
        throw new TrawlError(
          "bad-config",
          `${root} has more than ${maxRepositories} repositories: raise maxRepositories`,
        );
      found.push(plainRepository(withoutSuffix(relative(root, next.path), ".git"), next.path));
    } else if (next.depth < depthMax) {
      for (const entry of await readFolder(next.path, next.depth === 0))
        if (entry.isDirectory() && entry.name !== ".git")
          waiting.push({ path: join(next.path, entry.name), depth: next.depth + 1 });
    }
  }
}

async function isRepository(path: string): Promise<boolean> {
  return (
    (await exists(join(path, ".git"))) || ((await exists(join(path, "HEAD"))) && (await exists(join(path, "objects"))))
  );
}

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}

/** A folder that cannot be read is skipped, except the first. */
async function readFolder(path: string, isRoot: boolean): Promise<readonly Dirent[]> {
  try {
    return await readdir(path, { withFileTypes: true });
  } catch (error) {
    if (!isRoot) return [];
    throw new TrawlError("bad-config", `the folder ${path} cannot be read: ${errorMessage(error)}`);
  }
}
