import { createHash } from "node:crypto";
import { createReadStream, existsSync } from "node:fs";
import { pipeline } from "node:stream/promises";
import { TrawlError } from "../../src/base/errors.js";
import { run } from "../system/processes.js";
import { hashFraction } from "../system/random.js";
import { FastImport, firstCommitSeconds, type FileChange } from "./fast-import.js";
import {
  borrowObjects,
  commitFolder,
  initBare,
  isRegular,
  ownObjects,
  readSource,
  treeFiles,
  type Source,
  type TreeFile,
} from "./repositories.js";

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

const commitCount = 200;

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
  for (let i = 0; i < commitCount; i++) {
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
    return yield [1 + Math.floor(((place - firstShare) / (1 - firstShare)) * (commitCount - 1)), whole];
  const finish = hashFraction(file.path) / unfinishedShare;
  const half = finish < 1 && isRegular(file) ? firstHalf(readSource(source, file.path).text) : undefined;
  if (half === undefined) return yield [0, whole];
  yield [0, { kind: "bytes", path: file.path, bytes: half }];
  yield [1 + Math.floor(finish * (commitCount - 1)), whole];
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
