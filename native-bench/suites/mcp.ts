import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { TrawlError } from "../../src/base/errors.js";
import { monotonicMs } from "../../src/base/deadline.js";
import { openCorpus } from "../corpus/corpus.js";
import { cloneBare, readSource, smallFiles, type Source } from "../corpus/repositories.js";
import { type SmallPace, type SmallRequest, SmallRequests, type SmallResult } from "../load/small-requests.js";
import type { Trawl } from "../peers/trawl.js";
import { grouped } from "../report/numbers.js";
import type { Results } from "../report/results.js";
import { alternateWarm, readMemory } from "../system/measure.js";
import { firstLine, start } from "../system/processes.js";
import { type Random, randomFrom } from "../system/random.js";
import { startDaemon, type Suite, type SuiteContext } from "./suite.js";

/**
 * The tools for assistants: calls a second with different queries and with the same one, beside the example of the SDK, and
 * memory over many calls.
 */
export const mcpSuite: Suite = {
  name: "mcp",
  title: "Tools for assistants (MCP)",
  estimateSeconds: { quick: 20, full: 260 },
  measure,
};

const connections = 32;
/** Calls for the measurement of memory end after this time, however many there were. */
const memoryMsMax = 120_000;

/** Different queries that one measurement asks at most, so that no answer is a repeated one. */
const queriesOfMeasurement = 8_000;
const fileBytesMax = 1_000_000;

const distinctTask = "keyword_search, each call with another query";
const callTask = "keyword_search, the same call over and over";
const memoryTask = "memory without mapped files";
const example = "the SDK's example";

async function measure(context: SuiteContext, results: Results): Promise<void> {
  const { workFolder, rounds, isQuick, progress } = context;
  const generator = await SmallRequests.compile(workFolder);
  const modules = await openCorpus("modules", context);
  const trawl = await startDaemon(context, "mcp");
  await trawl.add("modules", await cloneBare(modules, join(workFolder, "mcp-modules.git")), progress);
  const exampleUrl = await startExample(trawl, workFolder);
  progress("choosing queries");
  const measurements = isQuick ? 3 : rounds + 3;
  const paths = await smallFiles(modules, fileBytesMax);
  const queries = makeQueries(modules, "modules", paths, measurements * queriesOfMeasurement, randomFrom(1));
  const fresh = new FreshCalls(queries);
  progress("calls a second");
  const seconds = isQuick ? 0.3 : 1.5;
  const pace = { connections, ratePerSecond: undefined, seconds };
  // The code of a search is compiled by then.
  await generator.measure(trawl.url, fresh.take(), { ...pace, seconds: isQuick ? 1 : 10 });
  const measured = await alternateWarm(rounds, [
    () => measureFresh(generator, trawl.url, fresh.take(), pace),
    () => generator.measure(trawl.url, [call], pace),
    () => generator.measure(exampleUrl, [call], pace),
  ]);
  results.grid(`Calls of keyword_search, ${connections} connections at full speed`, "trawl");
  record(distinctTask, "trawl", measured[0] ?? [], results);
  record(callTask, "trawl", measured[1] ?? [], results);
  record(callTask, example, measured[2] ?? [], results);
  // It reads no query.
  record(distinctTask, example, measured[2] ?? [], results);
  results.note(
    `Our daemon searches the corpus for each query; ${example} answers at once with the text of one answer of our daemon. A call that was answered before, and since which nothing has been indexed, has its recent answer: the rows of the same call show what a call costs besides the search. Both serve the protocol of 2025, without sessions: that is what most assistants speak.`,
  );
  await measureMemory(trawl, generator, fresh, context, results);
  await trawl.stop();
  for (const task of [distinctTask, callTask]) {
    results.atLeast(`MCP ${task}`, "/s", results.median(perSecondOf(task), "trawl"), { must: 2_000 });
    results.atLeast(`MCP ${task} ÷ ${example}`, "x", results.ratio(perSecondOf(task), "trawl", example), { must: 10 });
  }
}

/** Hands out calls with queries that no call has had, or, after all of them, none of the last ones. */
class FreshCalls {
  readonly #queries: readonly string[];
  #at = 0;

  constructor(queries: readonly string[]) {
    this.#queries = queries;
  }

  take(): SmallRequest[] {
    const queries = this.#queries.slice(this.#at, this.#at + queriesOfMeasurement);
    this.#at = (this.#at + queriesOfMeasurement) % this.#queries.length;
    return queries.map(callOf);
  }
}

/** Throws if the calls did not suffice, because answers to the same call are measured apart. */
async function measureFresh(
  generator: SmallRequests,
  url: string,
  calls: readonly SmallRequest[],
  pace: SmallPace,
): Promise<SmallResult> {
  const result = await generator.measure(url, calls, pace);
  if (result.answered > calls.length) throw new TrawlError("internal", "there were too few different queries");
  return result;
}

function perSecondOf(task: string): string {
  return `${task}, calls a second`;
}

function record(task: string, subject: string, all: readonly SmallResult[], results: Results): void {
  results.more(
    perSecondOf(task),
    subject,
    "/s",
    all.map(({ perSecond }) => perSecond),
  );
  results.less(
    `${task}, p99`,
    subject,
    "ms",
    all.map(({ p99Ms }) => p99Ms),
  );
}

/** What the daemon holds after a tenth of the calls and after all of them, or of those that it answers in time. */
async function measureMemory(
  trawl: Trawl,
  generator: SmallRequests,
  fresh: FreshCalls,
  { isQuick, progress }: SuiteContext,
  results: Results,
): Promise<void> {
  const wanted = isQuick ? 500 : 100_000;
  let answered = 0;
  const endMs = monotonicMs() + memoryMsMax;
  const callUntil = async (count: number): Promise<number> => {
    while (answered < count && monotonicMs() < endMs) {
      const pace = { connections, ratePerSecond: undefined, seconds: isQuick ? 0.5 : 10 };
      const calls = fresh.take().flatMap((other) => [other, call]);
      answered += (await generator.measure(trawl.url, calls, pace)).answered;
      progress(`memory, ${grouped(answered)} of ${grouped(wanted)} calls`);
    }
    return readMemory(trawl.pid).anonymousBytes / (1 << 20);
  };
  results.list(`Memory over ${grouped(wanted)} calls, every other one with another query`);
  const early = await callUntil(wanted / 10);
  const late = await callUntil(wanted);
  if (answered < wanted)
    results.note(`Memory: only ${grouped(answered)} calls were answered within ${memoryMsMax / 1000} s.`);
  results.less(`${memoryTask}, a tenth of the calls`, "trawl", "MiB", early);
  results.less(`${memoryTask}, all calls`, "trawl", "MiB", late);
  const text = `${Math.round(early)} MiB early, ${Math.round(late)} MiB after ${grouped(answered)} calls`;
  results.atMost("MCP: growth of memory over the calls", "x", late / early, { must: 1.2, aim: 1.05 }, text);
}

function callOf(query: string): SmallRequest {
  return {
    method: "POST",
    path: "/.api/mcp",
    headers: { "Content-Type": "application/json", Accept: "application/json, text/event-stream" },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "keyword_search", arguments: { query } },
    }),
  };
}

const call = callOf("lang:javascript getOwnPropertyDescriptor count:5");

/** Starts the example with the text of the daemon's answer. It ends with this process. */
async function startExample(trawl: Trawl, workFolder: string): Promise<string> {
  const response = await fetch(trawl.url + call.path, { method: "POST", headers: call.headers, body: call.body });
  const { result } = (await response.json()) as { result?: { isError?: boolean; content: { text: string }[] } };
  if (result === undefined || result.isError === true)
    throw new TrawlError("internal", `keyword_search failed: ${JSON.stringify(result)}`);
  const answerFile = join(workFolder, "mcp-answer.json");
  writeFileSync(answerFile, result.content.map(({ text }) => text).join(""));
  const program = fileURLToPath(new URL("../peers/mcp-server.js", import.meta.url));
  const env = { ...process.env, NODE_ENV: "production" };
  return await firstLine(start(process.execPath, [program, answerFile], { stdio: ["ignore", "pipe", "inherit"], env }));
}

/** Longer files are bundles: only their beginning is read. */
const textBytesMax = 100_000;

/** Queries made of the words of one file. */
const queriesOfFile = 4;

const languages: readonly (readonly [ending: string, name: string])[] = [
  [".js", "javascript"],
  [".cjs", "javascript"],
  [".mjs", "javascript"],
  [".ts", "typescript"],
  [".md", "markdown"],
  [".json", "json"],
];

/**
 * Different queries as an assistant writes them, each of words that are in a file of the corpus: of 20 queries, 9 are a word
 * alone, 5 a word with `lang:`, 2 with `repo:`, 2 with `file:`, and 2 are two words.
 */
function makeQueries(
  source: Source,
  repository: string,
  paths: readonly string[],
  count: number,
  random: Random,
): string[] {
  const known = paths.flatMap((path) => {
    const [ending, language] = languages.find(([end]) => path.endsWith(end)) ?? [];
    return ending === undefined || language === undefined ? [] : [{ path, ending, language }];
  });
  const queries = new Set<string>();
  const pick = <T>(from: readonly T[]): T => from[random(from.length)] as T;
  while (queries.size < count) {
    const { path, ending, language } = pick(known);
    const words = readWords(source, path);
    for (let i = 0; i < queriesOfFile && words.length > 1 && queries.size < count; i++) {
      const word = pick(words);
      const forms = [
        ...Array<string>(9).fill(word),
        ...Array<string>(5).fill(`lang:${language} ${word}`),
        ...Array<string>(2).fill(`repo:${repository} ${word}`),
        ...Array<string>(2).fill(`file:\\${ending}$ ${word}`),
        ...Array<string>(2).fill(`${word} ${pick(words)}`),
      ];
      queries.add(pick(forms));
    }
  }
  return [...queries];
}

/** The different identifiers of a file with 6 to 40 letters. */
function readWords(source: Source, path: string): string[] {
  const text = readSource(source, path).text.subarray(0, textBytesMax).toString("latin1");
  return [...new Set(text.match(/\b[A-Za-z_][A-Za-z0-9_]{5,39}\b/g))];
}
