import type { Dirent } from "node:fs";
import { access, readdir, realpath } from "node:fs/promises";
import { join, relative } from "node:path";
import { errorMessage, TrawlError } from "../base/errors.js";
import { withoutSuffix } from "../base/text.js";
import { type ConnectionConfig, type ListedRepository, type Listing, plainRepository } from "./connection.js";

/** Repositories may be in folders of folders: host, owner, group. */
const depthMax = 5;
const foldersMax = 100_000;

const problemsMax = 5;

/** Codes of the file system for something that is not there. */
const absent: readonly unknown[] = ["ENOENT", "ENOTDIR"];

/**
 * Finds the repositories below a folder, bare or with a work tree. Symbolic links are not followed. Nothing is known about
 * what is below a folder that cannot be read, except if it is the first, which is an error. The data directory is left out.
 */
export async function listFolder(
  { url: root, maxRepositories }: ConnectionConfig,
  dataFolder: string,
  signal: AbortSignal,
): Promise<Listing> {
  const repositories: ListedRepository[] = [];
  const unreadable: string[] = [];
  const problems: string[] = [];
  const data = await realpath(dataFolder).catch(() => dataFolder);
  const realRoot = await realpath(root).catch(() => root);
  const waiting: { readonly path: string; readonly depth: number }[] = [{ path: root, depth: 0 }];
  for (let count = 0; ; count++) {
    signal.throwIfAborted();
    const next = waiting.pop();
    if (next === undefined) break;
    if (count >= foldersMax) throw new TrawlError("bad-config", `${root} has more than ${foldersMax} folders`);
    try {
      if ((await realpath(next.path)) === data) continue;
      if (next.depth > 0 && (await isRepository(next.path))) {
        if (repositories.length >= maxRepositories) throw tooMany(root, maxRepositories);
        // What has become a link since is not followed when it is read.
        const workTree = (await exists(join(next.path, ".git"))) ? join(realRoot, relative(root, next.path)) : "";
        const plain = plainRepository(withoutSuffix(relative(root, next.path), ".git"), next.path);
        repositories.push({ ...plain, workTree });
      } else if (next.depth < depthMax) {
        for (const entry of await readdir(next.path, { withFileTypes: true }))
          if (mayHold(entry)) waiting.push({ path: join(next.path, entry.name), depth: next.depth + 1 });
      }
    } catch (error) {
      if (error instanceof TrawlError) throw error;
      if (next.depth === 0)
        throw new TrawlError("bad-config", `the folder ${root} cannot be read: ${errorMessage(error)}`);
      if (isAbsent(error)) continue;
      unreadable.push(next.path);
      if (problems.length < problemsMax)
        problems.push(`the folder ${next.path} cannot be read: ${errorMessage(error)}`);
    }
  }
  return {
    repositories: repositories.sort((a, b) => (a.name < b.name ? -1 : 1)),
    problems,
    mayHave: (url) => unreadable.some((folder) => url === folder || url.startsWith(`${folder}/`)),
  };
}

function tooMany(root: string, maxRepositories: number): TrawlError {
  return new TrawlError("bad-config", `${root} has more than ${maxRepositories} repositories: raise maxRepositories`);
}

function mayHold(entry: Dirent): boolean {
  return entry.isDirectory() && entry.name !== ".git";
}

async function isRepository(path: string): Promise<boolean> {
  return (
    (await exists(join(path, ".git"))) || ((await exists(join(path, "HEAD"))) && (await exists(join(path, "objects"))))
  );
}

/** Throws if that cannot be told. */
async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch (error) {
    if (isAbsent(error)) return false;
    throw error;
  }
}

function isAbsent(error: unknown): boolean {
  return absent.includes((error as { readonly code?: unknown }).code);
}
