import { join } from "node:path";
import { TrawlError } from "../../src/base/errors.js";
import { openCorpus, openMainCorpus } from "../corpus/corpus.js";
import { repositoryMarker } from "../corpus/many.js";
import { cloneBare } from "../corpus/repositories.js";
import { ResultSet } from "../peers/peer.js";
import { literal, trawlQuery } from "../peers/queries.js";
import { grouped } from "../report/numbers.js";
import type { Results } from "../report/results.js";
import { longSearches, measureRows, startDaemon, type Suite, type SuiteContext } from "./suite.js";

/** Search jobs beside streams of the same results, and what receipts cost. */
export const jobsSuite: Suite = { name: "jobs", title: "Search jobs and receipts", measure };

/** Of a receipt: so small a difference shows only in the median of many answers. */
const receiptRoundsEach = 6;

const job = "job";
const stream = "stream";
const query = trawlQuery(literal("return"), "all");
const denseTask = "`return`: JSONL on disk, or the whole stream read";
const receiptTask = "`return`: the whole stream read";
const [plain, withReceipt] = ["without a receipt", "with a receipt"];

async function measure(context: SuiteContext, results: Results): Promise<void> {
  await measureDense(context, results);
  const rareTask = await measureMany(context, results);
  const cost = (results.median(receiptTask, withReceipt) / results.median(receiptTask, plain)) * 100 - 100;
  results.targets(
    { what: "receipt: cost on `return`", unit: "%", value: cost, atMost: [3, 1] },
    {
      what: "job of `return`, JSONL on disk ÷ the same search streamed",
      of: [denseTask, job],
      over: [denseTask, stream],
      atMost: [1.3, 1.1],
    },
    { what: `job of ${rareTask}`, of: [rareTask, job], unit: "s", scale: 1 / 1000, atMost: [5, 1] },
  );
}

/** A search with very many results. */
async function measureDense(context: SuiteContext, results: Results): Promise<void> {
  const { workFolder, rounds, progress } = context;
  const corpus = await openMainCorpus(context);
  const trawl = await startDaemon(context, "jobs-data", "--set", "index.symbols=false", ...longSearches);
  await trawl.add(corpus.name, await cloneBare(corpus, join(workFolder, "jobs-corpus.git")), progress);
  const token = await trawl.createToken();
  progress("comparing the results of a job and of a stream");
  const { lines: streamed } = await trawl.results({ q: query, v: "V3" });
  const lines = new ResultSet();
  await trawl.job(token, query, ({ path = "", chunkMatches = [] }) => {
    for (const { ranges } of chunkMatches) for (const { start } of ranges) lines.add(path, start.line + 1);
  });
  const [only] = [...lines.without(streamed), ...streamed.without(lines)];
  if (only !== undefined || lines.count === 0)
    throw new TrawlError("internal", `only one of the job and the stream has ${only?.path}, line ${only?.line}`);
  // The match objects of jobs have chunk matches without context.
  const params = { q: query, v: "V3", cm: "true", cl: "0" };
  progress("jobs and streams in turn");
  results.grid("A search with very many results", job);
  results.note(`${grouped(lines.count)} lines, the same in the file of the job and in the stream. The file is synced.`);
  await measureRows(
    [
      [denseTask, job, () => trawl.job(token, query)],
      [denseTask, stream, () => trawl.curlMs(params)],
    ],
    rounds,
    results,
  );
  progress("streams with and without a receipt in turn");
  results.grid("The same with a receipt", plain);
  await measureRows(
    [
      [receiptTask, plain, () => trawl.curlMs(params)],
      [receiptTask, withReceipt, () => trawl.curlMs({ ...params, receipt: "1" })],
    ],
    rounds * receiptRoundsEach,
    results,
  );
  await trawl.stop();
}

/** Returns the name of the task. */
async function measureMany(context: SuiteContext, results: Results): Promise<string> {
  const { isQuick, rounds, progress } = context;
  const corpus = await openCorpus(isQuick ? "many-quick" : "many", context);
  const { length: count } = corpus.repositories;
  const options = ["--config", corpus.config, "--set", "index.symbols=false"];
  const trawl = await startDaemon(context, "jobs-many-data", ...options);
  await trawl.waitForRepositories(count, progress);
  const token = await trawl.createToken();
  // The whole word: `…1x` is no part of `…11x`.
  const marker = repositoryMarker(Math.floor(count / 2));
  const found = new Set<string>();
  await trawl.job(token, marker, ({ repository }) => found.add(repository ?? ""));
  if (found.size !== 1) throw new TrawlError("internal", `${marker} is in ${found.size} repositories`);
  progress("jobs over many repositories");
  results.list("A job over many repositories");
  const task = `a word of one of ${grouped(count)} repositories`;
  await measureRows([[task, job, () => trawl.job(token, marker)]], rounds, results);
  await trawl.stop();
  return task;
}
