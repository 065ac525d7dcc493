import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { TrawlError } from "../../src/base/errors.js";
import { monotonicMs } from "../../src/base/deadline.js";
import { openCorpus } from "../corpus/corpus.js";
import { cloneBare, type Source } from "../corpus/repositories.js";
import { drawFiles } from "../corpus/words.js";
import { Generator, type HttpRequest, type Latencies, postJson } from "../load/generator.js";
import { grouped } from "../report/numbers.js";
import type { Results } from "../report/results.js";
import { alternateWarm, readMemory } from "../system/measure.js";
import { startServer } from "../system/processes.js";
import { type Random, randomFrom } from "../system/random.js";
import { ours, startDaemon, type Suite, type SuiteContext } from "./suite.js";

/**
 * The tools for assistants: calls a second with different queries and with the same one, beside the example of the SDK, and
 * memory over many calls.
 */
export const mcpSuite: Suite = { name: "mcp", title: "Tools for assistants (MCP)", measure };

const connections = 32;
/** Calls for the measurement of memory end after this time, however many there were. */
const memoryMsMax = 120_000;

/** Different queries that one measurement asks at most, so that no answer is a repeated one. */
const queriesOfMeasurement = 8_000;

const distinctTask = "keyword_search, each call with another query";
const callTask = "keyword_search, the same call over and over";
const memoryTask = "memory without mapped files";
const example = "the SDK's example";

async function measure(context: SuiteContext, results: Results): Promise<void> {
  const { workFolder, rounds, isQuick, progress } = context;
  const generator = await Generator.compile(workFolder);
  const modules = await openCorpus("modules", context);
  const trawl = await startDaemon(context, "mcp");
  await trawl.add("modules", await cloneBare(modules, join(workFolder, "mcp-modules.git")), progress);
  const exampleUrl = await startExample(trawl.url, workFolder);
  progress("choosing queries");
  const queries = await makeQueries(
    modules,
    "modules",
    (isQuick ? 2 : rounds + 3) * queriesOfMeasurement,
    randomFrom(1),
  );
  let at = 0;
  /** Calls with queries that no call has had, or, after all of them, none of the last ones. */
  const freshCalls = (): HttpRequest[] => {
    const calls = queries.slice(at, at + queriesOfMeasurement).map(callOf);
    at = (at + queriesOfMeasurement) % queries.length;
    return calls;
  };
  progress("calls a second");
  const pace = { connections, seconds: isQuick ? 0.3 : 1.5, isSame: true };
  // The code of a search is compiled by then.
  await generator.measure(trawl.url, freshCalls(), { ...pace, seconds: isQuick ? 1 : 10 });
  const measured = await alternateWarm(rounds, [
    async () => {
      const result = await generator.measure(trawl.url, freshCalls(), pace);
      if (result.answered <= queriesOfMeasurement) return result;
      throw new TrawlError("internal", "there were too few different queries");
    },
    () => generator.measure(trawl.url, [call], pace),
    () => generator.measure(exampleUrl, [call], pace),
  ]);
  results.grid(`Calls of keyword_search, ${connections} connections at full speed`, ours);
  const record = (task: string, subject: string, all: readonly Latencies[] = []): void => {
    const rates = all.map(({ perSecond }) => perSecond);
    results.more(perSecondOf(task), subject, "/s", rates);
    const tails = all.map(({ p99Ms }) => p99Ms);
    results.less(`${task}, p99`, subject, "ms", tails);
  };
  record(distinctTask, ours, measured[0]);
  record(callTask, ours, measured[1]);
  record(callTask, example, measured[2]);
  // It reads no query.
  record(distinctTask, example, measured[2]);
  results.note(
    `Our daemon searches the corpus for each query; ${example} answers at once with the text of one answer of our daemon. A call that was answered before, and since which nothing has been indexed, has its recent answer: the rows of the same call show what a call costs besides the search. Both serve the protocol of 2025, without sessions: that is what most assistants speak.`,
  );
  await measureMemory(trawl, generator, freshCalls, context, results);
  await trawl.stop();
  const rate = perSecondOf(distinctTask);
  results.targets(
    { what: `MCP ${distinctTask}`, of: [rate, ours], atLeast: [1_500, 2_500] },
    { what: `MCP ${distinctTask} ÷ ${example}`, of: [rate, ours], over: [rate, example], atLeast: [1.5] },
  );
}

function perSecondOf(task: string): string {
  return `${task}, calls a second`;
}

/** What the daemon holds after a tenth of the calls and after all of them, or of those that it answers in time. */
async function measureMemory(
  trawl: { readonly url: string; readonly pid: number },
  generator: Generator,
  freshCalls: () => readonly HttpRequest[],
  { isQuick, progress }: SuiteContext,
  results: Results,
): Promise<void> {
  const wanted = isQuick ? 500 : 100_000;
  let answered = 0;
  const endMs = monotonicMs() + memoryMsMax;
  const callUntil = async (count: number): Promise<number> => {
    while (answered < count && monotonicMs() < endMs) {
      const calls = freshCalls().flatMap((other) => [other, call]);
      const pace = { connections, seconds: isQuick ? 0.5 : 10, isSame: true };
      answered += (await generator.measure(trawl.url, calls, pace)).answered;
      progress(`memory, ${grouped(answered)} of ${grouped(wanted)} calls`);
    }
    return readMemory(trawl.pid).anonymousBytes / (1 << 20);
  };
  results.list(`Memory over ${grouped(wanted)} calls, every other one with another query`);
  const [early, all] = [`${memoryTask}, a tenth of the calls`, `${memoryTask}, all calls`];
  results.less(early, ours, "MiB", await callUntil(wanted / 10));
  results.less(all, ours, "MiB", await callUntil(wanted));
  if (answered < wanted)
    results.note(`Memory: only ${grouped(answered)} calls were answered within ${memoryMsMax / 1000} s.`);
  const what = `MCP: growth of memory over ${grouped(answered)} calls`;
  results.targets({ what, of: [all, ours], over: [early, ours], atMost: [1.2, 1.05] });
}

function callOf(query: string): HttpRequest {
  const params = { name: "keyword_search", arguments: { query } };
  const headers = { Accept: "application/json, text/event-stream" };
  return postJson("/.api/mcp", { jsonrpc: "2.0", id: 1, method: "tools/call", params }, headers);
}

const call = callOf("lang:javascript getOwnPropertyDescriptor count:5");

/** Starts the example with the text of the daemon's answer. */
async function startExample(daemonUrl: string, workFolder: string): Promise<string> {
  const response = await fetch(daemonUrl + call.path, { method: "POST", headers: call.headers, body: call.body });
  const { result } = (await response.json()) as { result?: { isError?: boolean; content: { text: string }[] } };
  if (result === undefined || result.isError === true)
    throw new TrawlError("internal", `keyword_search failed: ${JSON.stringify(result)}`);
  const answerFile = join(workFolder, "mcp-answer.json");
  writeFileSync(answerFile, result.content.map(({ text }) => text).join(""));
  const program = fileURLToPath(new URL("../peers/mcp-server.js", import.meta.url));
  return (await startServer(program, [answerFile], { env: { NODE_ENV: "production" } })).url;
}

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
async function makeQueries(source: Source, repository: string, count: number, random: Random): Promise<string[]> {
  const queries = new Set<string>();
  const pick = <T>(from: readonly T[]): T => from[random(from.length)] as T;
  for await (const { path, words: all } of drawFiles(source, random, 6)) {
    const [ending, language] = languages.find(([end]) => path.endsWith(end)) ?? [];
    const words = [...new Set(all)];
    if (ending === undefined || words.length < 2) continue;
    for (let i = 0; i < queriesOfFile && queries.size < count; i++) {
      const word = pick(words);
      const forms: readonly (readonly [share: number, form: string])[] = [
        [9, word],
        [5, `lang:${language} ${word}`],
        [2, `repo:${repository} ${word}`],
        [2, `file:\\${ending}$ ${word}`],
        [2, `${word} ${pick(words)}`],
      ];
      queries.add(pick(forms.flatMap(([share, form]) => Array<string>(share).fill(form))));
    }
    if (queries.size >= count) break;
  }
  return [...queries];
}
