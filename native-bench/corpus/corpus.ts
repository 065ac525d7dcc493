import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { TrawlError } from "../../src/base/errors.js";
import { run } from "../system/processes.js";

/** What is searched: a git repository whose work tree is its one commit. */
export interface Corpus {
  readonly path: string;
  readonly commit: string;
  readonly fileCount: number;
  /** Bytes of all regular files. */
  readonly textBytes: number;
  /** Where indexes of peers and generated repositories are kept for the next run. */
  readonly cacheFolder: string;
}

export const sourcePackages = "linux-source-6.1 ripgrep codesearch curl";

const archive = "/usr/src/linux-source-6.1.tar.xz";

/** The corpus at `given`, or Debian's Linux source, made a repository in the cache folder the first time. */
export async function openCorpus(given: string | undefined): Promise<Corpus> {
  const cacheFolder = join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "trawl-bench");
  mkdirSync(cacheFolder, { recursive: true });
  const path = given === undefined ? await linuxSource(cacheFolder) : resolve(given);
  const git = (...args: string[]): Promise<string> => run("git", ["--no-optional-locks", "-C", path, ...args], "");
  const commit = (await git("rev-parse", "HEAD")).trim();
  if (await git("status", "--porcelain", "--ignored") !== "") {
    throw new TrawlError("bad-request", `the work tree of ${path} differs from its commit: tools that read the one and the other cannot be compared`);
  }
  const files = (await git("ls-tree", "-r", "-l", "HEAD")).split("\n").filter((line) => /^100/.test(line));
  const textBytes = files.reduce((sum, line) => sum + Number(/^\S+ \S+ \S+ +(\d+)/.exec(line)?.[1] ?? 0), 0);
  return { path, commit, fileCount: files.length, textBytes, cacheFolder };
}

async function linuxSource(cacheFolder: string): Promise<string> {
  const path = join(cacheFolder, "linux-source-6.1");
  if (existsSync(path)) return path;
  if (!existsSync(archive)) {
    throw new TrawlError("not-found", `${archive} is not there. Install it: apt-get install ${sourcePackages}, `
      + "or name another repository: BENCH_CORPUS=PATH make bench-peers");
  }
  console.log(`Making a repository of ${archive} in ${path} (about three minutes, 1.8 GB, once)`);
  const unfinished = `${path}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished);
  await run("tar", ["-xJf", archive, "-C", unfinished, "--strip-components=1"], "");
  const identity = ["-c", "user.name=Bench", "-c", "user.email=bench@localhost"];
  const git = (...args: string[]): Promise<string> => run("git", ["-C", unfinished, ...identity, ...args], "");
  await git("init", "-q", "--initial-branch=main");
  await git("add", "-A", "-f");
  await git("commit", "-q", "-m", "Linux 6.1 source");
  await git("repack", "-adq");
  renameSync(unfinished, path);
  return path;
}
