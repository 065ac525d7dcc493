import { createHash } from "node:crypto";
import { existsSync, renameSync } from "node:fs";
import { join } from "node:path";
import type { Corpus, CorpusContext } from "../corpus/corpus.js";
import { type Answer, declineHuge, type Found, type Peer } from "./peer.js";
import { type BenchQuery, escaped } from "./queries.js";
import { findTool, findTools, fingerprint, readLineOutput } from "./tools.js";
import { ended, run, start, timeCommand } from "../system/processes.js";
import { TrawlError } from "../../src/base/errors.js";

const indexTimeoutMs = 600_000;

/** codesearch over the work tree. Builds its index the first time. */
export async function openCodesearch(corpus: Corpus, { progress }: CorpusContext): Promise<Found<Peer>> {
  const name = "csearch";
  const tools = findTools(["csearch", "cindex"], "apt-get install codesearch");
  if (tools.kind === "missing") return { ...tools, name };
  const [csearch = "", cindex = ""] = tools.programs;
  const environment = { CSEARCHINDEX: await buildIndex(cindex, corpus, progress) };
  const listing = await run("env", [`CSEARCHINDEX=${environment.CSEARCHINDEX}`, csearch, "-l", "^"], "");
  const indexed = new Set(listing.split("\n").map((path) => path.slice(corpus.path.length + 1)));
  const command = ({ pattern, kind, ignoreCase }: BenchQuery): string[] => {
    const expression = kind === "literal" ? escaped(pattern) : pattern;
    return [csearch, "-n", ...(ignoreCase ? ["-i"] : []), expression];
  };
  const peer: Peer = {
    name,
    version: (await codesearchVersion()) ?? "",
    time: (query) => timeCommand(command(query), environment),
    results: (query) => readLineOutput(command(query), environment, `${corpus.path}/`),
    explain: ({ path }) => (indexed.has(path) ? undefined : "file that codesearch does not index"),
    declines: declineHuge,
  };
  return { kind: "found", peer };
}

/** The index holds absolute paths, so it depends on the path of the corpus. */
async function buildIndex(cindex: string, corpus: Corpus, progress: (text: string) => void): Promise<string> {
  const pathHash = createHash("sha256").update(corpus.path).digest("hex").slice(0, 8);
  const file = join(corpus.cacheFolder, `codesearch-${corpus.checksum}-${pathHash}`);
  if (existsSync(file)) return file;
  progress("building codesearch's index");
  const unfinished = `${file}.unfinished`;
  const child = start(cindex, [corpus.path], { stdio: "ignore", env: { ...process.env, CSEARCHINDEX: unfinished } });
  const code = await ended(child, indexTimeoutMs);
  if (code !== 0) throw new TrawlError("internal", `cindex ended with ${code}`);
  renameSync(unfinished, file);
  return file;
}

/** csearch does not print its version. Undefined where it is not installed. */
export async function codesearchVersion(): Promise<string | undefined> {
  const csearch = findTool("csearch");
  if (csearch === undefined) return undefined;
  const known = await run("dpkg-query", ["-W", "-f", "codesearch ${Version}", "codesearch"], "").catch(() => "");
  return known.trim() || `codesearch, SHA-256 ${await fingerprint(csearch)}`;
}

const environment = { LC_ALL: "C", GIT_CONFIG_GLOBAL: "/dev/null" };

/** With two threads, as paths from the root of the repository. */
function gitGrep(folder: string): string[] {
  return ["git", "-C", folder, "-c", "grep.threads=2", "grep", "-n", "--no-color", "--full-name"];
}

/** `git grep` for a literal in commits of a repository; a path is `REVISION:PATH`. */
export function gitGrepAt(
  folder: string,
  pattern: string,
  revisions: readonly string[],
): { time(): Promise<number>; results(): Promise<Answer> } {
  const command = [...gitGrep(folder), "-F", "-e", pattern, ...revisions, "--"];
  return { time: () => timeCommand(command, environment), results: () => readLineOutput(command, environment, "") };
}

/**
 * `git grep` over the work tree. With PCRE for expressions, its fastest mode: 2 s against 9 s with `-E` for one without a
 * literal, over the Linux source.
 */
export async function openGitGrep(corpus: Corpus): Promise<Found<Peer>> {
  const name = "git grep";
  const probe = run("git", ["-C", corpus.path, "grep", "-q", "-P", "-e", ".", "HEAD", "--", "."], "");
  const hasPcre = await probe.then(
    () => true,
    () => false,
  );
  if (!hasPcre) return { kind: "missing", name, reason: "git is built without PCRE" };
  const command = ({ pattern, kind, ignoreCase }: BenchQuery): string[] => {
    const flags = [kind === "literal" ? "-F" : "-P", ...(ignoreCase ? ["-i"] : [])];
    return [...gitGrep(corpus.path), ...flags, "-e", pattern];
  };
  const peer: Peer = {
    name,
    version: (await run("git", ["--version"], "")).trim(),
    time: (query) => timeCommand(command(query), environment),
    results: (query) => readLineOutput(command(query), environment, ""),
    explain: () => undefined,
    declines: declineHuge,
  };
  return { kind: "found", peer };
}
