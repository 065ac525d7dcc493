import { createHash } from "node:crypto";
import {
  copyFileSync,
  cpSync,
  createReadStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import {
  FastImport,
  type FileChange,
  firstCommitSeconds,
  borrowObjects,
  commitFolder,
  initBare,
  isRegular,
  ownObjects,
  readSource,
  type Source,
  type TreeFile,
  treeFiles,
} from "./repositories.js";
import { checkoutFolder, run } from "../system/processes.js";
import { hashFraction, randomFrom } from "../system/random.js";
import { TrawlError } from "../../src/base/errors.js";
import { tmpdir } from "node:os";

const archive = "/usr/src/linux-source-6.1.tar.xz";

/** Changes with the version of the package; "" when the package is not installed. */
export async function archiveChecksum(): Promise<string> {
  if (!existsSync(archive)) return "";
  const hash = createHash("sha256");
  await pipeline(createReadStream(archive), hash);
  return hash.digest("hex");
}

export async function makeLinux(folder: string): Promise<void> {
  if (!existsSync(archive)) {
    const help = "Install it: apt-get install linux-source-6.1, or name another repository in BENCH_CORPUS";
    throw new TrawlError("not-found", `${archive} is not there. ${help}`);
  }
  await run("tar", ["-xJf", archive, "-C", folder, "--strip-components=1"], "");
  await commitFolder(folder);
}

const historyLength = 200;

/** The share of subtrees that the first commit has. */
const firstShare = 0.5;

/** The share of files of which the first commit has only the first half. */
const unfinishedShare = 0.1;

/**
 * The source as 200 commits. The first one has half of the subtrees, and of every tenth file in them only the first half
 * of its lines. Each further commit adds some of the other subtrees and completes some of the unfinished files, so the
 * last one has exactly the tree of the source. Names alone decide what is added when.
 */
export async function makeHistory(folder: string, source: Source): Promise<void> {
  const files = await treeFiles(source);
  initBare(folder);
  await borrowObjects(folder, source);
  const importer = new FastImport(folder);
  const byCommit = new Map<number, FileChange[]>();
  const add = (commit: number, change: FileChange): void => {
    const changes = byCommit.get(commit) ?? [];
    byCommit.set(commit, changes);
    changes.push(change);
  };
  for (const file of files) for (const [commit, change] of changesTo(file, source)) add(commit, change);
  for (let i = 0; i < historyLength; i++) {
    const seconds = firstCommitSeconds + i * 3600;
    await importer.commit("main", { kind: i === 0 ? "none" : "previous" }, seconds, byCommit.get(i) ?? []);
  }
  await importer.end();
  await ownObjects(folder);
}

/** The commits that add or change a file. */
function* changesTo(file: TreeFile, source: Source): Generator<[number, FileChange]> {
  const whole: FileChange = { kind: "object", path: file.path, mode: file.mode, oid: file.oid };
  const place = hashFraction(subtree(file.path));
  if (place >= firstShare)
    return yield [1 + Math.floor(((place - firstShare) / (1 - firstShare)) * (historyLength - 1)), whole];
  const finish = hashFraction(file.path) / unfinishedShare;
  const half = finish < 1 && isRegular(file) ? firstHalf(readSource(source, file.path).text) : undefined;
  if (half === undefined) return yield [0, whole];
  yield [0, { kind: "bytes", path: file.path, bytes: half }];
  yield [1 + Math.floor(finish * (historyLength - 1)), whole];
}

/** The folder of a file, and no deeper than three: `drivers/net/ethernet`. */
function subtree(path: string): string {
  return path.split("/").slice(0, -1).slice(0, 3).join("/");
}

/** The first half of the lines; undefined for a file that has none. */
function firstHalf(text: Buffer): Buffer | undefined {
  const end = text.indexOf(10, text.length >> 1);
  return end === -1 || end === text.length - 1 ? undefined : text.subarray(0, end + 1);
}

const modulesFolder = join(checkoutFolder, "node_modules");

const isText = /\.(c|cc|cjs|cmake|cpp|css|cts|h|html|js|json|jsx|md|mjs|mts|py|sh|ts|tsx|txt|yml)$/;

/** Changes with what is installed: npm keeps a list of it beside the packages. */
export async function installedChecksum(): Promise<string> {
  const list = readFileSync(join(modulesFolder, ".package-lock.json"));
  return createHash("sha256").update(list).digest("hex");
}

/** The text files of the installed packages, without those compiled here, whose sources include the compiler's output. */
export async function makeModules(folder: string): Promise<void> {
  for (const path of textFiles("")) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    copyFileSync(join(modulesFolder, path), join(folder, path));
  }
  await commitFolder(folder);
}

function* textFiles(folder: string): Generator<string> {
  for (const entry of readdirSync(join(modulesFolder, folder), { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.name.startsWith(".")) continue;
    if (entry.isFile() && isText.test(entry.name)) yield path;
    if (entry.isDirectory() && !existsSync(join(modulesFolder, path, "binding.gyp"))) yield* textFiles(path);
  }
}

const ledgerPath = "ledger.txt";
const ledgerLines = 2000;

const commitCount = 10_000;

/** Every `ledgerPeriod`th commit changes `linesEach` lines of the ledger. */
const ledgerPeriod = 20;
const linesEach = 8;
const smallFiles = 100;

/** A long history: each commit writes one of a hundred small files, and every 20th some lines of one with 2,000. */
export async function makeCommits(folder: string): Promise<void> {
  const random = randomFrom(1);
  const ledger = Array.from({ length: ledgerLines }, (_, line) => `entry ${line} of the ledger, from the beginning`);
  initBare(folder);
  const importer = new FastImport(folder);
  for (let i = 0; i < commitCount; i++) {
    const changes: FileChange[] = [
      { kind: "bytes", path: `notes/${i % smallFiles}.txt`, bytes: Buffer.from(`note ${i}\n`) },
    ];
    if (i % ledgerPeriod === 0) {
      for (let k = 0; i > 0 && k < linesEach; k++)
        ledger[random(ledgerLines)] = `entry of commit ${i}, number ${k}, with amount ${random(1_000_000)}`;
      changes.push({ kind: "bytes", path: ledgerPath, bytes: Buffer.from(`${ledger.join("\n")}\n`) });
    }
    await importer.commit("main", { kind: i === 0 ? "none" : "previous" }, firstCommitSeconds + i * 60, changes);
  }
  await importer.end();
  await ownObjects(folder);
}

/** Corpora of released packages, each as one commit: the registries' own clients fetch them. */

const goSource = "/usr/share/go-1.19/src";

/** The Go standard library with its tools and tests, as Debian packages it. */
export async function makeGoLibrary(folder: string): Promise<void> {
  if (!existsSync(goSource))
    throw new TrawlError("not-found", `${goSource} is not there. Install it: apt-get install golang-1.19-src`);
  cpSync(goSource, join(folder, "src"), { recursive: true });
  await commitFolder(folder);
}

/** What `npm pack` fetches for `name@version`. */
export async function makeNpmPackage(folder: string, specifier: string): Promise<void> {
  await withDownloads(async (downloads) => {
    await run("npm", ["pack", "--silent", "--ignore-scripts", "--pack-destination", downloads, specifier], "");
    await run("tar", ["-xzf", findOnly(downloads, specifier), "-C", folder, "--strip-components=1"], "");
  });
  await commitFolder(folder);
}

/** The wheel of `name==version`. */
export async function makePythonPackage(folder: string, specifier: string): Promise<void> {
  await withDownloads(async (downloads) => {
    const options = ["--quiet", "--no-deps", "--only-binary", ":all:", "--dest", downloads];
    await run("pip", ["download", ...options, specifier], "");
    await run("python3", ["-m", "zipfile", "-e", findOnly(downloads, specifier), folder], "");
  });
  await commitFolder(folder);
}

/** What `go mod download` fetches for `path@version`. */
export async function makeGoModule(folder: string, specifier: string): Promise<void> {
  const listed = JSON.parse(await run("go", ["mod", "download", "-json", specifier], "")) as { readonly Dir?: string };
  if (listed.Dir === undefined) throw new TrawlError("not-found", `go mod download has no files of ${specifier}`);
  cpSync(listed.Dir, folder, { recursive: true });
  await run("chmod", ["-R", "u+w", folder], "");
  await commitFolder(folder);
}

async function withDownloads(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "trawl-bench-"));
  try {
    await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function findOnly(folder: string, specifier: string): string {
  const [file, ...others] = readdirSync(folder);
  if (file === undefined || others.length > 0)
    throw new TrawlError("not-found", `the registry has not one file for ${specifier}`);
  return join(folder, file);
}
