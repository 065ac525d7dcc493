import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { assert } from "../../src/base/assert.js";
import { run } from "../system/processes.js";
import { hashFraction } from "../system/random.js";
import {
  FastImport,
  firstCommitSeconds,
  type FileChange,
  borrowObjects,
  readHead,
  initBare,
  isRegular,
  readSource,
  treeFiles,
  type Source,
  type TreeFile,
} from "./repositories.js";
import type { Corpus } from "./corpus.js";

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

/** A corpus at several sizes, made once and cached. */
export async function openScaled(
  corpus: Corpus,
  sizes: readonly number[],
  progress: (text: string) => void,
): Promise<Scaled> {
  const folder = join(corpus.cacheFolder, `scaled-${corpus.checksum}-${sizes.length}`);
  const manifest = join(folder, "manifest.json");
  if (existsSync(manifest))
    return { folder: join(folder, storeName), sizes: JSON.parse(readFileSync(manifest, "utf8")) as ScaledSize[] };
  const unfinished = `${folder}.unfinished`;
  for (const old of [folder, unfinished]) rmSync(old, { recursive: true, force: true });
  const made = await makeScaled(unfinished, corpus, sizes, progress);
  writeFileSync(join(unfinished, "manifest.json"), JSON.stringify(made.sizes));
  renameSync(unfinished, folder);
  return { ...made, folder: join(folder, storeName) };
}

const storeName = "store.git";

const marker: FileChange = {
  kind: "bytes",
  path: "trawl-bench-marker.txt",
  bytes: Buffer.from(`${scaledMarker}\n`),
};

/**
 * Makes the objects of all sizes in one repository. A fraction has the files whose names hash into it, so a larger one
 * includes a smaller one. A multiple has the source and copies in folders of their own, where each file ends with a line
 * that names its copy.
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
      ...files.filter(({ path }) => hashFraction(path) < size),
      ...copies.slice(0, Math.max(0, size - 1)).flat(),
    ];
    const branch = `size-${i}`;
    const changes = chosen.map(({ path, mode, oid }): FileChange => ({ kind: "object", path, mode, oid }));
    await importer.commit(branch, { kind: "none" }, firstCommitSeconds, [marker, ...changes]);
    const textBytes = chosen.reduce((sum, { bytes }) => sum + bytes, 0);
    made.push({ size, branch, fileCount: chosen.length + 1, textBytes });
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
  const settings = ["-c", "core.fsync=none", "-c", "pack.threads=0", "--git-dir", folder];
  const pack = ["pack-objects", "-q", "--revs", "--window=0", join(directory, "objects/pack/pack")];
  await run("git", [...settings, ...pack], `${commit}\n`);
  writeFileSync(join(directory, "refs/heads/main"), `${commit}\n`);
  assert(readHead(directory) === commit, "the repository has the commit");
}
