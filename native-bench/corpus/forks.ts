import { rmSync } from "node:fs";
import { join } from "node:path";
import { hashFraction, randomFrom } from "../system/random.js";
import { FastImport, firstCommitSeconds, type FileChange } from "./fast-import.js";
import type { Manifest } from "./manifest.js";
import {
  borrowObjects,
  readHead,
  initBare,
  isRegular,
  linkPacks,
  moveNewest,
  ownObjects,
  readSource,
  treeFiles,
  type Source,
  type TreeFile,
} from "./repositories.js";

const forkCount = 50;
const changedFiles = 5;

/** The share of the source's files that the repository has. */
const share = 1 / 32;

/** A word that is only in fork number `i`, in each file that it changes. */
export function forkMarker(i: number): string {
  return `trawlbenchfork${i}x`;
}

/** One repository, and 50 that have one commit more: it changes five files and adds one. */
export async function makeForks(folder: string, source: Source): Promise<Manifest> {
  const files = (await treeFiles(source)).filter((file) => isRegular(file) && hashFraction(file.path) < share);
  const base = join(folder, "base.git");
  initBare(base);
  await borrowObjects(base, source);
  const importer = new FastImport(base);
  await importer.commit(
    "main",
    { kind: "none" },
    firstCommitSeconds,
    files.map(({ path, mode, oid }): FileChange => ({ kind: "object", path, mode, oid })),
  );
  await importer.end();
  await ownObjects(base);
  await makeForkRepositories(folder, base, (i) => forkChanges(i, files, source));
  const names = ["base", ...Array.from({ length: forkCount }, (_, i) => forkName(i + 1))];
  const repositories = names.map((name) => ({ name: `forks/${name}`, directory: `${name}.git` }));
  const baseBytes = files.reduce((sum, { bytes }) => sum + bytes, 0);
  return { repositories, fileCount: files.length * names.length + forkCount, textBytes: baseBytes * names.length };
}

/** What a fork shares with the base takes no space of its own. */
async function makeForkRepositories(
  folder: string,
  base: string,
  changes: (i: number) => readonly FileChange[],
): Promise<void> {
  const store = join(folder, "store.git");
  initBare(store);
  await borrowObjects(store, { path: base });
  const importer = new FastImport(store);
  for (let i = 1; i <= forkCount; i++) {
    await importer.commit(
      "main",
      { kind: "revision", revision: readHead(base) },
      firstCommitSeconds + 3600,
      changes(i),
    );
    await importer.checkpoint();
    const directory = join(folder, `${forkName(i)}.git`);
    initBare(directory);
    linkPacks(base, directory);
    moveNewest(store, directory);
  }
  await importer.end();
  rmSync(store, { recursive: true, force: true });
}

function forkName(i: number): string {
  return `fork-${i}`;
}

function forkChanges(i: number, files: readonly TreeFile[], source: Source): FileChange[] {
  const random = randomFrom(i);
  const line = Buffer.from(`${forkMarker(i)}\n`);
  const changes: FileChange[] = [{ kind: "bytes", path: "FORK", bytes: line }];
  while (changes.length <= changedFiles) {
    const path = files[random(files.length)]?.path ?? "";
    if (!changes.some((change) => change.path === path))
      changes.push({ kind: "bytes", path, bytes: Buffer.concat([readSource(source, path).text, line]) });
  }
  return changes;
}
