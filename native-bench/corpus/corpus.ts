import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join, resolve } from "node:path";
import { TrawlError } from "../../src/base/errors.js";
import { run } from "../system/processes.js";
import { madeOne, type Made } from "./manifest.js";
import { headOf } from "./repositories.js";
import { corpora, type CorpusDefinition } from "./table.js";

/** What is searched: a repository whose work tree is its commit, or a set of bare repositories. */
export interface Corpus {
  readonly name: string;
  /** The repository, or the folder of the set. */
  readonly path: string;
  readonly repositories: readonly { readonly name: string; readonly url: string }[];
  /** A configuration for `trawl serve` that names the repositories; "" for a given repository. */
  readonly config: string;
  /** The commit; of a set the SHA-256 of its repositories' names and commits. Equal checksums are equal corpora. */
  readonly checksum: string;
  /** Regular files at the heads of all repositories, and their bytes. */
  readonly fileCount: number;
  readonly textBytes: number;
  /** What a reader of figures should know; "" for nothing. */
  readonly note: string;
  /** Where indexes of peers are kept for the next run. */
  readonly cacheFolder: string;
}

export interface CorpusContext {
  readonly cacheFolder: string;
  readonly progress: (text: string) => void;
}

/** What is kept beside a corpus once it is whole. */
interface Manifest extends Made {
  readonly madeOf: string;
  readonly checksum: string;
}

/** `$XDG_CACHE_HOME/trawl-bench`, which it makes. */
export function defaultCacheFolder(): string {
  const folder = join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "trawl-bench");
  mkdirSync(folder, { recursive: true });
  return folder;
}

/**
 * The repository that `BENCH_CORPUS` names, in place of the Linux source; else the Linux source, or in a quick run the
 * corpus that every checkout has.
 */
export async function openMainCorpus(context: CorpusContext & { readonly isQuick: boolean }): Promise<Corpus> {
  return await openCorpus(givenPath() === undefined && context.isQuick ? "modules" : "linux", context);
}

/**
 * A corpus of the table: from the cache folder, or made there when it is missing or what it is made of has changed.
 * Where `BENCH_CORPUS` names a repository, that one stands for `linux`.
 */
export async function openCorpus(name: string, context: CorpusContext): Promise<Corpus> {
  const given = givenPath();
  if (name === "linux" && given !== undefined) return await openRepository(given, context.cacheFolder);
  const definition = corpora.find((row) => row.name === name);
  if (definition === undefined)
    throw new TrawlError(
      "not-found",
      `there is no corpus ${name}; there are ${corpora.map((row) => row.name).join(", ")}`,
    );
  const source = definition.cutFrom === undefined ? undefined : await openCorpus(definition.cutFrom, context);
  const version = await definition.version();
  const madeOf = source === undefined ? version : `${version} ${await treeOf(source.path)}`;
  const known = readManifest(name, context.cacheFolder);
  const isCurrent = known !== undefined && (madeOf === "" || known.madeOf === madeOf);
  const manifest = isCurrent ? known : await makeCorpus(definition, source, madeOf, context);
  return await checked(definition, manifest, context.cacheFolder);
}

/** A repository of the caller's own. */
export async function openRepository(path: string, cacheFolder: string): Promise<Corpus> {
  const folder = resolve(path);
  const checksum = await commitOf(folder);
  await requireClean(folder);
  const { fileCount, textBytes } = await madeOne(basename(folder), folder);
  return {
    name: basename(folder),
    path: folder,
    repositories: [{ name: basename(folder), url: folder }],
    config: "",
    checksum,
    fileCount,
    textBytes,
    note: "",
    cacheFolder,
  };
}

/** What is known of a corpus without making it; undefined when it was not made yet. */
export function madeCorpus(
  name: string,
  cacheFolder: string,
): { readonly checksum: string; readonly fileCount: number; readonly textBytes: number } | undefined {
  return readManifest(name, cacheFolder);
}

async function makeCorpus(
  definition: CorpusDefinition,
  source: Corpus | undefined,
  madeOf: string,
  { cacheFolder, progress }: CorpusContext,
): Promise<Manifest> {
  const folder = folderOf(definition.name, cacheFolder);
  const unfinished = `${folder}.unfinished`;
  for (const old of [folder, unfinished, manifestFile(definition.name, cacheFolder)])
    rmSync(old, { recursive: true, force: true });
  mkdirSync(unfinished, { recursive: true });
  progress(`making the corpus ${definition.name} (${definition.cost}, once)`);
  const made = await definition.make(unfinished, source ?? { path: "" }, (text) =>
    progress(`making the corpus ${definition.name}: ${text}`),
  );
  renameSync(unfinished, folder);
  const manifest: Manifest = { madeOf, checksum: await checksumOf(folder, made), ...made };
  const repositories = made.repositories.map(({ name, directory }) => ({ name, url: join(folder, directory) }));
  writeFileSync(configFile(definition.name, cacheFolder), JSON.stringify({ repositories }));
  writeFileSync(manifestFile(definition.name, cacheFolder), JSON.stringify(manifest));
  return manifest;
}

async function checked(definition: CorpusDefinition, manifest: Manifest, cacheFolder: string): Promise<Corpus> {
  const { name } = definition;
  const path = folderOf(name, cacheFolder);
  const checksum = await checksumOf(path, manifest);
  if (checksum !== manifest.checksum) {
    throw new TrawlError(
      "conflict",
      `${path} is not what was made there (${checksum} in place of ${manifest.checksum}); delete it, and it is made again`,
    );
  }
  if (existsSync(join(path, ".git"))) await requireClean(path);
  const isAsListed = definition.checksum === "" || definition.checksum === checksum;
  return {
    name,
    path,
    checksum,
    cacheFolder,
    repositories: manifest.repositories.map(({ name: repository, directory }) => ({
      name: repository,
      url: join(path, directory),
    })),
    config: configFile(name, cacheFolder),
    fileCount: manifest.fileCount,
    textBytes: manifest.textBytes,
    note: isAsListed
      ? ""
      : `The corpus ${name} is made of another version of its source than the one listed (${checksum} in place of ${definition.checksum}).`,
  };
}

async function checksumOf(folder: string, { repositories }: Made): Promise<string> {
  if (repositories.length === 1) return await commitOf(folder);
  const hash = createHash("sha256");
  for (const { name, directory } of repositories) hash.update(`${name} ${headOf(join(folder, directory))}\n`);
  return hash.digest("hex");
}

async function commitOf(folder: string): Promise<string> {
  return (await run("git", ["-C", folder, "rev-parse", "HEAD"], "")).trim();
}

/** Two corpora with the same files have the same tree, whoever committed them. */
async function treeOf(folder: string): Promise<string> {
  return (await run("git", ["-C", folder, "rev-parse", "HEAD^{tree}"], "")).trim();
}

async function requireClean(folder: string): Promise<void> {
  if ((await run("git", ["--no-optional-locks", "-C", folder, "status", "--porcelain", "--ignored"], "")) === "")
    return;
  throw new TrawlError(
    "bad-request",
    `the work tree of ${folder} differs from its commit: tools that read the one and the other cannot be compared`,
  );
}

function givenPath(): string | undefined {
  return process.env["BENCH_CORPUS"] || undefined;
}

function folderOf(name: string, cacheFolder: string): string {
  return join(cacheFolder, "corpora", name);
}

function manifestFile(name: string, cacheFolder: string): string {
  return `${folderOf(name, cacheFolder)}.json`;
}

function configFile(name: string, cacheFolder: string): string {
  return `${folderOf(name, cacheFolder)}.trawl.jsonc`;
}

function readManifest(name: string, cacheFolder: string): Manifest | undefined {
  const file = manifestFile(name, cacheFolder);
  return existsSync(file) && existsSync(folderOf(name, cacheFolder))
    ? (JSON.parse(readFileSync(file, "utf8")) as Manifest)
    : undefined;
}
