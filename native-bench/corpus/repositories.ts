import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../system/processes.js";
import type { Corpus } from "./corpus.js";

export interface SourceFile {
  readonly path: string;
  readonly text: Buffer;
}

/** The paths of the corpus' files of at most `bytesMax`, in git's order. */
export async function smallFiles(corpus: Corpus, bytesMax: number): Promise<string[]> {
  const listing = await run("git", ["-C", corpus.path, "ls-tree", "-r", "-l", "-z", "HEAD"], "");
  return listing.split("\0").flatMap((entry) => {
    const [, bytes, path = ""] = /^100\d+ blob \S+ +(\d+)\t([^]*)$/.exec(entry) ?? [];
    return bytes !== undefined && Number(bytes) <= bytesMax ? [path] : [];
  });
}

export function readSource(corpus: Corpus, path: string): SourceFile {
  return { path, text: readFileSync(join(corpus.path, path)) };
}

/** Makes a bare repository with one commit. Written by hand up to the objects: `git init` costs more than the import. */
export async function makeRepository(directory: string, files: readonly SourceFile[]): Promise<void> {
  for (const folder of ["objects/pack", "refs/heads"]) mkdirSync(join(directory, folder), { recursive: true });
  writeFileSync(join(directory, "HEAD"), "ref: refs/heads/main\n");
  writeFileSync(join(directory, "config"), "[core]\n\trepositoryformatversion = 0\n\tbare = true\n");
  await commit(directory, "main", files, "");
}

/** Adds a commit on a branch that changes these files; `parent` is "" for the first one. */
export async function commit(directory: string, branch: string, files: readonly SourceFile[], parent: string): Promise<void> {
  const from = parent === "" ? "" : `from ${parent}\n`;
  const header = `commit refs/heads/${branch}\ncommitter Bench <bench@localhost> 1700000000 +0000\ndata 6\ncommit\n${from}`;
  const parts: Buffer[] = [Buffer.from(header)];
  for (const { path, text } of files) parts.push(Buffer.from(`M 100644 inline ${JSON.stringify(path)}\ndata ${text.length}\n`), text, Buffer.from("\n"));
  await run("git", ["-c", "core.compression=1", "--git-dir", directory, "fast-import", "--quiet", "--force"], parts);
}
