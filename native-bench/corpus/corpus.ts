import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join, resolve } from "node:path";
import { type Manifest, readHead, singleManifest } from "./repositories.js";
import { corpora, type CorpusDefinition } from "./table.js";
import { run } from "../system/processes.js";
import { TrawlError } from "../../src/base/errors.js";

/** What is searched: a repository whose work tree equals its commit, or a set of bare repositories. */
export interface Corpus {
  readonly name: string;
  /** The repository, or the folder of the set. */
  readonly path: string;
  readonly repositories: readonly { readonly name: string; readonly url: string }[];
  /** A configuration for `trawl serve` that names the repositories; "" for a user's own repository. */
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

/** What is stored beside a complete corpus. */
interface StoredManifest extends Manifest {
  /** The versions of its sources. */
  readonly madeOf: string;
  readonly checksum: string;
}

/** `$XDG_CACHE_HOME/trawl-bench`, created if needed. */
export function defaultCacheFolder(): string {
  const folder = join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "trawl-bench");
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** The repository that `BENCH_CORPUS` names, else the Linux source, or in a quick run what every checkout has. */
export async function openMainCorpus(context: CorpusContext & { readonly isQuick: boolean }): Promise<Corpus> {
  return await openCorpus(givenPath() === undefined && context.isQuick ? "modules" : "linux", context);
}

/**
 * A corpus of the table: from the cache folder, or made there when it is missing or its sources have changed. Where
 * `BENCH_CORPUS` names a repository, it replaces `linux`.
 */
export async function openCorpus(name: string, context: CorpusContext): Promise<Corpus> {
  const given = givenPath();
  if (name === "linux" && given !== undefined) return await openRepository(given, context.cacheFolder);
  const definition = corpora.find((row) => row.name === name);
  if (definition === undefined) {
    const names = corpora.map((row) => row.name).join(", ");
    throw new TrawlError("not-found", `there is no corpus ${name}; there are ${names}`);
  }
  const source = definition.cutFrom === undefined ? undefined : await openCorpus(definition.cutFrom, context);
  const version = await definition.version();
  const madeOf = source === undefined ? version : `${version} ${await resolveRevision(source.path, "HEAD^{tree}")}`;
  const known = readManifest(name, context.cacheFolder);
  const isCurrent = known !== undefined && (madeOf === "" || known.madeOf === madeOf);
  const manifest = isCurrent ? known : await makeCorpus(definition, source, madeOf, context);
  return await verified(definition, manifest, context.cacheFolder);
}

/** A repository of the user's own. */
export async function openRepository(path: string, cacheFolder: string): Promise<Corpus> {
  const folder = resolve(path);
  const name = basename(folder);
  const checksum = await resolveRevision(folder, "HEAD");
  await requireClean(folder);
  const { fileCount, textBytes } = await singleManifest(name, folder);
  const repositories = [{ name, url: folder }];
  return { name, path: folder, repositories, config: "", checksum, fileCount, textBytes, note: "", cacheFolder };
}

/** What is known of a corpus that was made; undefined when it was not made yet. */
export function readManifest(name: string, cacheFolder: string): StoredManifest | undefined {
  const { folder, manifest } = paths(name, cacheFolder);
  if (!existsSync(manifest) || !existsSync(folder)) return undefined;
  return JSON.parse(readFileSync(manifest, "utf8")) as StoredManifest;
}

async function makeCorpus(
  { name, cost, make }: CorpusDefinition,
  source: Corpus | undefined,
  madeOf: string,
  { cacheFolder, progress }: CorpusContext,
): Promise<StoredManifest> {
  const { folder, manifest: manifestFile, config } = paths(name, cacheFolder);
  const unfinished = `${folder}.unfinished`;
  for (const old of [folder, unfinished, manifestFile]) rmSync(old, { recursive: true, force: true });
  mkdirSync(unfinished, { recursive: true });
  progress(`making the corpus ${name} (${cost}, once)`);
  const report = (text: string): void => progress(`making the corpus ${name}: ${text}`);
  const made = (await make(unfinished, source ?? { path: "" }, report)) ?? (await singleManifest(name, unfinished));
  renameSync(unfinished, folder);
  const manifest: StoredManifest = { madeOf, checksum: await readChecksum(folder, made), ...made };
  writeFileSync(config, JSON.stringify({ repositories: withUrls(made, folder) }));
  writeFileSync(manifestFile, JSON.stringify(manifest));
  return manifest;
}

function withUrls({ repositories }: Manifest, folder: string): Corpus["repositories"] {
  return repositories.map(({ name, directory }) => ({ name, url: join(folder, directory) }));
}

async function verified(
  { name, checksum: listed }: CorpusDefinition,
  manifest: StoredManifest,
  cacheFolder: string,
): Promise<Corpus> {
  const { folder: path, config } = paths(name, cacheFolder);
  const { fileCount, textBytes } = manifest;
  const checksum = await readChecksum(path, manifest);
  if (checksum !== manifest.checksum) {
    const difference = `${checksum} instead of ${manifest.checksum}`;
    const message = `${path} is not what was made there (${difference}); delete it, and it is made again`;
    throw new TrawlError("conflict", message);
  }
  if (existsSync(join(path, ".git"))) await requireClean(path);
  const note =
    listed === "" || listed === checksum
      ? ""
      : `The corpus ${name} is made of another version of its source than the one listed (${checksum} instead of ${listed}).`;
  const repositories = withUrls(manifest, path);
  return { name, path, repositories, config, checksum, fileCount, textBytes, note, cacheFolder };
}

async function readChecksum(folder: string, { repositories }: Manifest): Promise<string> {
  if (repositories.length === 1) return await resolveRevision(folder, "HEAD");
  const hash = createHash("sha256");
  for (const { name, directory } of repositories) hash.update(`${name} ${readHead(join(folder, directory))}\n`);
  return hash.digest("hex");
}

async function resolveRevision(folder: string, revision: string): Promise<string> {
  return (await run("git", ["-C", folder, "rev-parse", revision], "")).trim();
}

async function requireClean(folder: string): Promise<void> {
  const status = await run("git", ["--no-optional-locks", "-C", folder, "status", "--porcelain", "--ignored"], "");
  if (status === "") return;
  const reason = "tools that read one or the other cannot be compared";
  throw new TrawlError("bad-request", `the work tree of ${folder} differs from its commit: ${reason}`);
}

function givenPath(): string | undefined {
  return process.env["BENCH_CORPUS"] || undefined;
}

interface CorpusPaths {
  readonly folder: string;
  readonly manifest: string;
  readonly config: string;
}

function paths(name: string, cacheFolder: string): CorpusPaths {
  const folder = join(cacheFolder, "corpora", name);
  return { folder, manifest: `${folder}.json`, config: `${folder}.trawl.jsonc` };
}
