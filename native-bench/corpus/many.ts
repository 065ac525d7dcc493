import { rmSync } from "node:fs";
import { join } from "node:path";
import {
  FastImport,
  type FileChange,
  firstCommitSeconds,
  initBare,
  type Manifest,
  type ManifestRepository,
  moveNewest,
  readSource,
  smallFiles,
  type Source,
} from "./repositories.js";
import { type Random, randomFrom } from "../system/random.js";

const filesEach = 20;
const fileBytesMax = 16 * 1024;
const seed = 1;
const importerCount = 2;

/**
 * Repositories per importer. It looks up every object in all packs that it has written, which took 16 ms per repository
 * without this limit.
 */
const batch = 100;

/** A word that is only in repository number `i`. */
export function repositoryMarker(i: number): string {
  return `trawlbenchmany${i}x`;
}

/**
 * Cuts `count` repositories of 20 small files each from the source, each with a last line of its own. Each has this many
 * commits, which add some of the files.
 */
export async function makeMany(
  folder: string,
  source: Source,
  count: number,
  progress: (text: string) => void,
  commitCount = 1,
): Promise<Manifest> {
  const paths = await smallFiles(source, fileBytesMax);
  const random = randomFrom(seed);
  let textBytes = 0;
  const choices = Array.from({ length: count }, () => choose(paths, random));
  const marked = (i: number, path: string): FileChange => {
    const bytes = Buffer.concat([readSource(source, path).text, Buffer.from(`${repositoryMarker(i)}\n`)]);
    textBytes += bytes.length;
    return { kind: "bytes", path, bytes };
  };
  const makeBatch = async (store: string, from: number): Promise<void> => {
    progress(`repository ${from} of ${count}`);
    initBare(store);
    const importer = new FastImport(store);
    for (let i = from; i < Math.min(from + batch, count); i++) {
      const changes = (choices[i] ?? []).map((path) => marked(i, path));
      const each = Math.ceil(changes.length / commitCount);
      for (let at = 0; at < changes.length; at += each) {
        const parent = { kind: at === 0 ? "none" : "previous" } as const;
        await importer.commit("main", parent, firstCommitSeconds + at * 60, changes.slice(at, at + each));
      }
      await importer.checkpoint();
      const directory = join(folder, repositoryDirectory(i));
      initBare(directory);
      moveNewest(store, directory);
    }
    await importer.end();
    rmSync(store, { recursive: true, force: true });
  };
  let started = 0;
  const makeSome = async (store: string): Promise<void> => {
    for (let from = started; from < count; from = started) {
      started += batch;
      await makeBatch(store, from);
    }
  };
  await Promise.all(Array.from({ length: importerCount }, (_, i) => makeSome(join(folder, `store-${i}`))));
  const repositories = choices.map(
    (_, i): ManifestRepository => ({ name: `many/${i}`, directory: repositoryDirectory(i) }),
  );
  return { repositories, fileCount: choices.reduce((sum, { length }) => sum + length, 0), textBytes };
}

/** Different paths, at most as many as there are. */
function choose(paths: readonly string[], random: Random): string[] {
  const chosen = new Set<string>();
  while (chosen.size < Math.min(filesEach, paths.length)) chosen.add(paths[random(paths.length)] ?? "");
  return [...chosen];
}

function repositoryDirectory(i: number): string {
  return join(String(Math.floor(i / 100)), `${i}.git`);
}
