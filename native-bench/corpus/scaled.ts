import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { assert } from "../../src/base/assert.js";
import { run } from "../system/processes.js";
import { placeOf } from "./chance.js";
import { FastImport, firstCommitSeconds, type FileChange } from "./fast-import.js";
import type { Corpus } from "./corpus.js";
import {
  borrowObjects,
  headOf,
  initBare,
  isRegular,
  readSource,
  treeFiles,
  type Source,
  type TreeFile,
} from "./repositories.js";

/** On one line of every size, and nowhere else. Each of its trigrams is in most of the source's files. */
export const scaledMarker = "kmalloc_return_struct_error";

/** A source at several sizes; nothing is shared between its copies. */
export interface Scaled {
  readonly folder: string;
  readonly sizes: readonly ScaledSize[];
}

export interface ScaledSize {
  /** As a multiple of the source. */
  readonly size: number;
  readonly branch: string;
  readonly fileCount: number;
  readonly textBytes: number;
}

/** A corpus at several sizes, made once and kept in the cache. */
export async function openScaled(
  corpus: Corpus,
  sizes: readonly number[],
  progress: (text: string) => void,
): Promise<Scaled> {
  const folder = join(corpus.cacheFolder, `scaled-${corpus.checksum}-${sizes.length}`);
  const record = join(folder, "made.json");
  if (existsSync(record))
    return { folder: join(folder, storeName), sizes: JSON.parse(readFileSync(record, "utf8")) as ScaledSize[] };
  const unfinished = `${folder}.unfinished`;
  for (const old of [folder, unfinished]) rmSync(old, { recursive: true, force: true });
  const made = await makeScaled(unfinished, corpus, sizes, progress);
  writeFileSync(join(unfinished, "made.json"), JSON.stringify(made.sizes));
  renameSync(unfinished, folder);
  return { ...made, folder: join(folder, storeName) };
}

const storeName = "store.git";

/**
 * Makes the objects of all sizes in one repository. A fraction has the files whose names fall to it, so a larger one
 * has those of a smaller one. A multiple has the source and copies in folders of their own, where each file ends with a
 * line that says which copy it belongs to.
 */
export async function makeScaled(
  folder: string,
  source: Source,
  sizes: readonly number[],
  progress: (text: string) => void,
): Promise<Scaled> {
  const files = (await treeFiles(source)).filter(isRegular);
  mkdirSync(folder, { recursive: true });
  const store = join(folder, storeName);
  initBare(store);
  await borrowObjects(store, source);
  const importer = new FastImport(store);
  const copies: CopiedFile[][] = [];
  const made: ScaledSize[] = [];
  for (const [i, size] of sizes.entries()) {
    assert(size < 1 || Number.isInteger(size), "a size is a fraction or a multiple");
    while (copies.length < size - 1) copies.push(await copyFiles(importer, source, files, copies.length + 1, progress));
    const chosen = [
      ...files.filter(({ path }) => placeOf(path) < size),
      ...copies.slice(0, Math.max(0, size - 1)).flat(),
    ];
    const marker: FileChange = {
      kind: "bytes",
      path: "trawl-bench-marker.txt",
      bytes: Buffer.from(`${scaledMarker}\n`),
    };
    const branch = `size-${i}`;
    await importer.commit(branch, { kind: "none" }, firstCommitSeconds, [
      marker,
      ...chosen.map(({ path, mode, oid }): FileChange => ({ kind: "object", path, mode, oid })),
    ]);
    made.push({
      size,
      branch,
      fileCount: chosen.length + 1,
      textBytes: chosen.reduce((sum, { bytes }) => sum + bytes, 0),
    });
  }
  await importer.end();
  return { folder: store, sizes: made };
}

type CopiedFile = Pick<TreeFile, "path" | "mode" | "oid" | "bytes">;

async function copyFiles(
  importer: FastImport,
  source: Source,
  files: readonly TreeFile[],
  copy: number,
  progress: (text: string) => void,
): Promise<CopiedFile[]> {
  progress(`making copy ${copy} of the source`);
  const suffix = Buffer.from(`\ncopy ${copy}\n`);
  const copied: CopiedFile[] = [];
  for (const { path, mode, bytes } of files) {
    const oid = await importer.blob(Buffer.concat([readSource(source, path).text, suffix]));
    copied.push({ path: `copy-${copy}/${path}`, mode, oid, bytes: bytes + suffix.length });
  }
  return copied;
}

/** Makes a repository of its own of one size, in one pack. */
export async function makeSize({ folder }: Scaled, { branch }: ScaledSize, directory: string): Promise<void> {
  initBare(directory);
  const commit = (await run("git", ["--git-dir", folder, "rev-parse", `refs/heads/${branch}`], "")).trim();
  await run(
    "git",
    [
      "-c",
      "core.fsync=none",
      "-c",
      "pack.threads=0",
      "--git-dir",
      folder,
      "pack-objects",
      "-q",
      "--revs",
      "--window=0",
      join(directory, "objects/pack/pack"),
    ],
    `${commit}\n`,
  );
  writeFileSync(join(directory, "refs/heads/main"), `${commit}\n`);
  assert(headOf(directory) === commit, "the repository has the commit");
}
