import { type Corpus, openCorpus } from "../corpus/corpus.js";
import { cloneBare } from "../corpus/repositories.js";
import { commitCount, ledgerLines, ledgerPath } from "../corpus/sources.js";
import { type SmallRequest, SmallRequests, type SmallResult } from "../load/small-requests.js";
import { curlMs } from "../peers/tools.js";
import type { Trawl } from "../peers/trawl.js";
import { grouped } from "../report/numbers.js";
import type { Results } from "../report/results.js";
import {
  connections,
  curlRequest,
  fetchData,
  measureWide,
  percentiles,
  ratePerSecond,
  smallRequest,
  userOperation,
} from "./graphql-servers.js";
import { startDaemon, type Suite, type SuiteContext } from "./suite.js";
import { alternateWarm } from "../system/measure.js";
import { run, timeCommand } from "../system/processes.js";
import { TrawlError } from "../../src/base/errors.js";

/** GraphQL: beside other servers, on many repositories, on a long history, and beside streams. */
export const graphqlSuite: Suite = {
  name: "graphql",
  title: "GraphQL beside other servers",
  estimateSeconds: { quick: 60, full: 140 },
  measure,
};

async function measure(context: SuiteContext, results: Results): Promise<void> {
  const generator = await SmallRequests.compile(context.workFolder);
  await measureWide(generator, context, results);
  await measureDeep(generator, context, results);
}

const streamCount = 8;

/** A daemon with a long history and with much to stream. */
async function measureDeep(generator: SmallRequests, context: SuiteContext, results: Results): Promise<void> {
  const { workFolder, rounds, progress } = context;
  const history = await openCorpus("commits", context);
  const modules = await openCorpus("modules", context);
  const trawl = await startDaemon(context, "graphql-deep");
  await trawl.add("commits", history.path, progress);
  progress("ancestors and blame of 10,000 commits");
  results.list("One request at a time, 10,000 commits");
  await measureGit(trawl, history, rounds, results);
  await trawl.add("modules", await cloneBare(modules, `${workFolder}/graphql-modules.git`), progress);
  progress("GraphQL beside exhaustive streams");
  await measureBeside(trawl, generator, context, results);
  await trawl.stop();
}

const ancestorsTask = "ancestors(first: 100)";
const blameTask = "blame of 2,000 lines";

/** Each round asks for another commit, so that no earlier read answers. */
async function measureGit(trawl: Trawl, corpus: Corpus, rounds: number, results: Results): Promise<void> {
  const commits = (await run("git", ["-C", corpus.path, "rev-list", "--first-parent", "HEAD"], "")).trim().split("\n");
  if (commits.length !== commitCount)
    throw new TrawlError("internal", `the history has ${commits.length} commits, not ${commitCount}`);
  await requireSameAncestors(trawl, commits);
  await requireSameBlame(trawl, commits[0] ?? "", corpus);
  let asked = 0;
  // Both sides of a round ask for the same commit.
  const next = (): string => commits[1 + 7 * Math.floor(asked++ / 4)] ?? "";
  const git = ["git", "-C", corpus.path];
  const [ancestors = [], log = [], blame = [], gitBlame = []] = await alternateWarm(rounds, [
    () => curlMs(curlRequest(trawl.url, ancestorsQuery(next()))),
    () => timeCommand([...git, "log", "-100", "--format=%H %s %an %ae %aI", next()], {}),
    () => curlMs(curlRequest(trawl.url, blameQuery(next()))),
    () => timeCommand([...git, "blame", "--porcelain", next(), "--", ledgerPath], {}),
  ]);
  results.less(ancestorsTask, "trawl", "ms", ancestors);
  results.less(ancestorsTask, "git log -100", "ms", log);
  results.less(blameTask, "trawl", "ms", blame);
  results.less(blameTask, "git", "ms", gitBlame);
  results.atMost("ancestors(first: 100) of 10,000 commits", "ms", results.median(ancestorsTask, "trawl"), { must: 30 });
  const note = results.text(blameTask, "trawl", "ms");
  results.atMost(
    "blame of 2,000 lines ÷ git blame",
    "x",
    results.ratio(blameTask, "trawl", "git"),
    { must: 1.5 },
    note,
  );
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

/** GraphQL clients alone, and beside clients that read everything there is, over and over. */
async function measureBeside(
  trawl: Trawl,
  generator: SmallRequests,
  { rounds, isQuick }: SuiteContext,
  results: Results,
): Promise<void> {
  const small = smallRequest(userOperation.query, await trawl.createToken("admin"));
  const params = new URLSearchParams({ q: "repo:^modules$ type:file count:all return", t: "literal" });
  const path = `/.api/search/stream?${params.toString()}`;
  const stream: SmallRequest = { method: "GET", path, headers: {}, body: "" };
  const seconds = isQuick ? 0.3 : 1;
  const askSmall = () => generator.measure(trawl.url, [small], { connections, ratePerSecond, seconds });
  const readAll = () =>
    generator.measure(trawl.url, [stream], { connections: streamCount, ratePerSecond: undefined, seconds });
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
  results.list(
    `${connections} connections at ${grouped(ratePerSecond)} a second beside ${streamCount} exhaustive streams`,
  );
  const [aloneTask, besideTask] = ["GraphQL alone", "GraphQL beside exhaustive streams"];
  for (const [task, all] of [
    [aloneTask, idle],
    [besideTask, beside],
  ] as const) {
    results.more(
      task,
      "trawl",
      "/s",
      all.map(({ perSecond }) => perSecond),
    );
    for (const [percentile, field] of percentiles)
      results.less(
        `${task}, ${percentile}`,
        "trawl",
        "ms",
        all.map((result) => result[field]),
      );
  }
  results.more("exhaustive streams beside GraphQL", "trawl", "MB/s", streamMegabytes);
  const [loaded, alone] = [`${besideTask}, p99`, `${aloneTask}, p99`];
  results.atMost(
    `p99 beside ${streamCount} exhaustive streams ÷ idle`,
    "x",
    results.median(loaded, "trawl") / results.median(alone, "trawl"),
    { must: 3 },
    `${results.text(loaded, "trawl", "ms and")} ${results.text(alone, "trawl", "ms")}`,
  );
}
