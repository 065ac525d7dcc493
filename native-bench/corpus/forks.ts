import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { randomFrom } from "../system/random.js";
import { FastImport, firstCommitSeconds, type FileChange } from "./fast-import.js";
import type { Made } from "./made.js";
import { placeOf } from "./chance.js";
import { borrowObjects, headOf, initBare, isRegular, linkPacks, ownObjects, readSource, treeFiles, type Source, type TreeFile } from "./repositories.js";

const forkCount = 50;
const changedFiles = 5;

/** Of the source's files, those that the repository has. */
const share = 1 / 32;

/** A word that is only in fork number `i`, in each file that it changes. */
export function forkMarkerOf(i: number): string {
  return `trawlbenchfork${i}x`;
}

/** One repository, and 50 that have one commit more: it changes five files and adds one. */
export async function makeForks(folder: string, source: Source): Promise<Made> {
  const files = (await treeFiles(source)).filter((file) => isRegular(file) && placeOf(file.path) < share);
  const base = join(folder, "base.git");
  initBare(base);
  await borrowObjects(base, source);
  const importer = new FastImport(base);
  await importer.commit("main", { kind: "none" }, firstCommitSeconds, files.map(({ path, mode, oid }): FileChange => ({ kind: "object", path, mode, oid })));
  await importer.end();
  await ownObjects(base);
  const names = ["base"];
  for (let i = 1; i <= forkCount; i++) {
    const name = `fork-${i}`;
    await makeFork(join(folder, `${name}.git`), base, changesOf(i, files, source));
    names.push(name);
  }
  const repositories = names.map((name) => ({ name: `forks/${name}`, directory: `${name}.git` }));
  const baseBytes = files.reduce((sum, { bytes }) => sum + bytes, 0);
  return { repositories, fileCount: files.length * names.length + forkCount, textBytes: baseBytes * names.length };
}

async function makeFork(directory: string, base: string, changes: readonly FileChange[]): Promise<void> {
  initBare(directory);
  linkPacks(base, directory);
  writeFileSync(join(directory, "refs/heads/main"), readFileSync(join(base, "refs/heads/main")));
  const importer = new FastImport(directory);
  await importer.commit("main", { kind: "revision", revision: headOf(base) }, firstCommitSeconds + 3600, changes);
  await importer.end();
}

function changesOf(i: number, files: readonly TreeFile[], source: Source): FileChange[] {
  const random = randomFrom(i);
  const line = Buffer.from(`${forkMarkerOf(i)}\n`);
  const changes: FileChange[] = [{ kind: "bytes", path: "FORK", bytes: line }];
  while (changes.length <= changedFiles) {
    const path = files[random(files.length)]?.path ?? "";
    if (!changes.some((change) => change.path === path)) changes.push({ kind: "bytes", path, bytes: Buffer.concat([readSource(source, path).text, line]) });
  }
  return changes;
}
