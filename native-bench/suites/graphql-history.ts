import { rmSync } from "node:fs";
import { join } from "node:path";
import { TrawlError } from "../../src/base/errors.js";
import { commitCount, ledgerLines, ledgerPath } from "../corpus/commits.js";
import { openCorpus, type Corpus } from "../corpus/corpus.js";
import { cloneBare } from "../corpus/repositories.js";
import type { SmallRequest, SmallRequests, SmallResult } from "../load/small-requests.js";
import { curlMs } from "../peers/http.js";
import { Trawl } from "../peers/trawl.js";
import { alternateWarm } from "../system/measure.js";
import { run, timeCommand } from "../system/processes.js";
import { connections, curlRequest, fetchData, ratePerSecond, smallRequest, userOperation } from "./graphql-requests.js";
import type { SuiteContext } from "./suite.js";

/** What was measured of a daemon with a long history and with much to stream. */
export interface DeepOutcome {
  readonly git: GitOutcome;
  readonly beside: BesideOutcome;
}

/** Milliseconds of what reads a mirror, and of git's own commands. */
interface GitOutcome {
  readonly ancestorsMs: readonly number[];
  readonly logMs: readonly number[];
  readonly blameMs: readonly number[];
  readonly gitBlameMs: readonly number[];
}

/** GraphQL clients alone, and beside clients that read everything there is, over and over. */
interface BesideOutcome {
  readonly idle: readonly SmallResult[];
  readonly beside: readonly SmallResult[];
  readonly streamMegabytes: readonly number[];
}

export const streamCount = 8;

export async function measureDeep(generator: SmallRequests, context: SuiteContext): Promise<DeepOutcome> {
  const { workFolder, rounds, progress } = context;
  const history = await openCorpus("commits", context);
  const modules = await openCorpus("modules", context);
  const dataFolder = join(workFolder, "graphql-deep");
  const trawl = await Trawl.start(dataFolder, []);
  await trawl.add("commits", history.path, progress);
  progress("ancestors and blame of 10,000 commits");
  const git = await measureGit(trawl, history, rounds);
  const clone = await cloneBare(modules, join(workFolder, "graphql-modules.git"));
  await trawl.add("modules", clone, progress);
  rmSync(clone, { recursive: true });
  progress("GraphQL beside exhaustive streams");
  const beside = await measureBeside(trawl, generator, context);
  await trawl.stop();
  rmSync(dataFolder, { recursive: true });
  return { git, beside };
}

/** Each round asks for another commit, so that no earlier read answers. */
async function measureGit(trawl: Trawl, corpus: Corpus, rounds: number): Promise<GitOutcome> {
  const commits = (await run("git", ["-C", corpus.path, "rev-list", "--first-parent", "HEAD"], "")).trim().split("\n");
  if (commits.length !== commitCount)
    throw new TrawlError("internal", `the history has ${commits.length} commits, not ${commitCount}`);
  await requireSameAncestors(trawl, commits);
  await requireSameBlame(trawl, commits[0] ?? "", corpus);
  let asked = 0;
  // Both sides of a round ask for the same commit.
  const next = (): string => commits[1 + 7 * Math.floor(asked++ / 4)] ?? "";
  const git = ["git", "-C", corpus.path];
  const [ancestorsMs = [], logMs = [], blameMs = [], gitBlameMs = []] = await alternateWarm(rounds, [
    () => curlMs(curlRequest(trawl.url, ancestorsQuery(next()))),
    () => timeCommand([...git, "log", "-100", "--format=%H %s %an %ae %aI", next()], {}),
    () => curlMs(curlRequest(trawl.url, blameQuery(next()))),
    () => timeCommand([...git, "blame", "--porcelain", next(), "--", ledgerPath], {}),
  ]);
  return { ancestorsMs, logMs, blameMs, gitBlameMs };
}

function ancestorsQuery(commit: string): string {
  return `query { repository(name: "commits") { commit(rev: "${commit}") { ancestors(first: 100) {
    nodes { oid subject author { date person { name email } } } pageInfo { hasNextPage } } } } }`;
}

function blameQuery(commit: string): string {
  return `query { repository(name: "commits") { commit(rev: "${commit}") { blob(path: "${ledgerPath}") {
    blame(startLine: 1, endLine: ${ledgerLines}) { startLine endLine author { date person { name email } } commit { oid } } } } } }`;
}

async function requireSameAncestors(trawl: Trawl, commits: readonly string[]): Promise<void> {
  const { repository } = (await fetchData(trawl.url, ancestorsQuery(commits[0] ?? ""), "")) as {
    repository: { commit: { ancestors: { nodes: { oid: string }[] } } };
  };
  const found = repository.commit.ancestors.nodes.map(({ oid }) => oid).join();
  if (found !== commits.slice(0, 100).join()) throw new TrawlError("internal", "ancestors differ from git's");
}

/** Compares line by line, as git may form other hunks. */
async function requireSameBlame(trawl: Trawl, head: string, corpus: Corpus): Promise<void> {
  type Hunk = { readonly startLine: number; readonly endLine: number; readonly commit: { readonly oid: string } };
  const { repository } = (await fetchData(trawl.url, blameQuery(head), "")) as {
    repository: { commit: { blob: { blame: Hunk[] } } };
  };
  const ours: string[] = [];
  for (const { startLine, endLine, commit } of repository.commit.blob.blame)
    for (let line = startLine; line < endLine; line++) ours[line - 1] = commit.oid;
  const text = await run("git", ["-C", corpus.path, "blame", "--porcelain", "HEAD", "--", ledgerPath], "");
  const theirs = text.split("\n").flatMap((line) => /^([0-9a-f]{40}) \d+ \d+/.exec(line)?.[1] ?? []);
  if (theirs.length !== ledgerLines || ours.join() !== theirs.join())
    throw new TrawlError("internal", "blame differs from git's");
}

async function measureBeside(
  trawl: Trawl,
  generator: SmallRequests,
  { rounds, isQuick }: SuiteContext,
): Promise<BesideOutcome> {
  const small = smallRequest(userOperation.query, await trawl.createToken("admin"));
  const params = new URLSearchParams({ q: "repo:^modules$ type:file count:all return", t: "literal" });
  const path = `/.api/search/stream?${params.toString()}`;
  const stream: SmallRequest = { method: "GET", path, headers: {}, body: "" };
  const seconds = isQuick ? 0.3 : 1;
  const askSmall = () => generator.measure(trawl.url, small, { connections, ratePerSecond, seconds });
  const readAll = () =>
    generator.measure(trawl.url, stream, { connections: streamCount, ratePerSecond: undefined, seconds });
  const idle: SmallResult[] = [];
  const beside: SmallResult[] = [];
  const streamMegabytes: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const alone = await askSmall();
    const [read, loaded] = await Promise.all([readAll(), askSmall()]);
    if (round === 0) continue;
    idle.push(alone);
    beside.push(loaded);
    streamMegabytes.push(read.bytesPerSecond / 1e6);
  }
  return { idle, beside, streamMegabytes };
}
