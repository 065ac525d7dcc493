import { join } from "node:path";
import { monotonicMs } from "../../src/base/deadline.js";
import { TrawlError } from "../../src/base/errors.js";
import { openCorpus, openMainCorpus } from "../corpus/corpus.js";
import { repositoryMarker } from "../corpus/many.js";
import { cloneBare } from "../corpus/repositories.js";
import { ResultSet } from "../peers/peer.js";
import { literal, trawlQuery } from "../peers/queries.js";
import { SearchJobClient } from "../peers/search-client.js";
import { grouped } from "../report/numbers.js";
import type { Results } from "../report/results.js";
import { alternateWarm } from "../system/measure.js";
import { waitUntilReady } from "./many.js";
import { longSearches, startDaemon, type Suite, type SuiteContext } from "./suite.js";

/** Search jobs beside streams of the same results, and what receipts cost. */
export const jobsSuite: Suite = {
  name: "jobs",
  title: "Search jobs and receipts",
  estimateSeconds: { quick: 30, full: 420 },
  measure,
};

/** Of a receipt: so small a difference shows only in the median of many answers. */
const receiptRoundsEach = 6;

const job = "job";
const stream = "stream";
const query = trawlQuery(literal("return"), "all");
const denseTask = "`return`: JSONL on disk, or the whole stream read";
const receiptTask = "`return`: the whole stream read";
const rareTask = (count: number): string => `a word of one of ${grouped(count)} repositories`;
const [plain, withReceipt] = ["without a receipt", "with a receipt"];

async function measure(context: SuiteContext, results: Results): Promise<void> {
  await measureDense(context, results);
  const manyCount = await measureMany(context, results);
  const cost = (results.ratio(receiptTask, withReceipt, plain) ?? NaN) * 100 - 100;
  results.atMost("receipt: cost on `return`", "%", cost, { must: 3, aim: 1 });
  const ratio = results.ratio(denseTask, job, stream);
  results.atMost("job of `return`, JSONL on disk ÷ the same search streamed", "x", ratio, { must: 1.3, aim: 1.1 });
  const rareSeconds = results.median(rareTask(manyCount), job) / 1000;
  results.atMost(`job of ${rareTask(manyCount)}`, "s", rareSeconds, { must: 5, aim: 1 });
}

/** A search with very many results. */
async function measureDense(context: SuiteContext, results: Results): Promise<void> {
  const { workFolder, rounds, progress } = context;
  const corpus = await openMainCorpus(context);
  const trawl = await startDaemon(context, "jobs-data", "--set", "index.symbols=false", ...longSearches);
  await trawl.add(corpus.name, await cloneBare(corpus, join(workFolder, "jobs-corpus.git")), progress);
  const jobs = new SearchJobClient(trawl.url, await trawl.createToken("admin"));
  progress("comparing the results of a job and of a stream");
  const lineCount = await requireEqual(jobs, (await trawl.results(new URLSearchParams({ q: query, v: "V3" }))).lines);
  // The match objects of jobs have chunk matches without context.
  const params = { q: query, v: "V3", cm: "true", cl: "0" };
  const streamMs = (more: Readonly<Record<string, string>>): Promise<number> =>
    trawl.curlMs(new URLSearchParams({ ...params, ...more }));
  progress("jobs and streams in turn");
  results.grid("A search with very many results", job);
  results.note(`${grouped(lineCount)} lines, the same in the file of the job and in the stream. The file is synced.`);
  const [jobTimes = [], streamTimes = []] = await alternateWarm(rounds, [
    () => jobs.measure(query),
    () => streamMs({}),
  ]);
  results.less(denseTask, job, "ms", jobTimes);
  results.less(denseTask, stream, "ms", streamTimes);
  progress("streams with and without a receipt in turn");
  const [plainTimes = [], receiptTimes = []] = await alternateWarm(rounds * receiptRoundsEach, [
    () => streamMs({}),
    () => streamMs({ receipt: "1" }),
  ]);
  results.grid("The same with a receipt", plain);
  results.less(receiptTask, plain, "ms", plainTimes);
  results.less(receiptTask, withReceipt, "ms", receiptTimes);
  await trawl.stop();
}

/** Returns the number of lines that match. */
async function requireEqual(jobs: SearchJobClient, streamed: ResultSet): Promise<number> {
  const lines = new ResultSet();
  await jobs.read(query, ({ path = "", chunkMatches = [] }) => {
    for (const { ranges } of chunkMatches) for (const { start } of ranges) lines.add(path, start.line + 1);
  });
  const [first] = [...lines.without(streamed), ...streamed.without(lines)];
  if (first === undefined && lines.count > 0) return lines.count;
  throw new TrawlError("internal", `only one of the job and the stream has ${first?.path}, line ${first?.line}`);
}

/** Returns the number of repositories. */
async function measureMany(context: SuiteContext, results: Results): Promise<number> {
  const { isQuick, rounds, progress } = context;
  const corpus = await openCorpus(isQuick ? "many-quick" : "many", context);
  const { length: count } = corpus.repositories;
  const options = ["--config", corpus.config, "--set", "index.symbols=false"];
  const trawl = await startDaemon(context, "jobs-many-data", ...options);
  await waitUntilReady(trawl, count, monotonicMs(), progress);
  const jobs = new SearchJobClient(trawl.url, await trawl.createToken("admin"));
  // The whole word: `…1x` is no part of `…11x`.
  const marker = repositoryMarker(Math.floor(count / 2));
  const found = new Set<string>();
  await jobs.read(marker, ({ repository }) => found.add(repository ?? ""));
  if (found.size !== 1) throw new TrawlError("internal", `${marker} is in ${found.size} repositories`);
  progress("jobs over many repositories");
  const [times = []] = await alternateWarm(rounds, [() => jobs.measure(marker)]);
  results.list("A job over many repositories");
  results.less(rareTask(count), job, "ms", times);
  await trawl.stop();
  return count;
}
