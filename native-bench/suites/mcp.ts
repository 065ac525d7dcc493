import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { TrawlError } from "../../src/base/errors.js";
import { monotonicMs } from "../../src/base/deadline.js";
import { openCorpus } from "../corpus/corpus.js";
import { cloneBare } from "../corpus/repositories.js";
import { type SmallRequest, SmallRequests, type SmallResult } from "../load/small-requests.js";
import type { Trawl } from "../peers/trawl.js";
import { grouped } from "../report/numbers.js";
import type { Results } from "../report/results.js";
import { alternateWarm, readMemory } from "../system/measure.js";
import { firstLine, start } from "../system/processes.js";
import { startDaemon, type Suite, type SuiteContext } from "./suite.js";

/** The tools for assistants: calls a second beside the example of the SDK, and memory over many calls. */
export const mcpSuite: Suite = {
  name: "mcp",
  title: "Tools for assistants (MCP)",
  estimateSeconds: { quick: 20, full: 180 },
  measure,
};

const connections = 32;
/** Calls for the measurement of memory end after this time, however many there were. */
const memoryMsMax = 120_000;

const callTask = "keyword_search, calls a second";
const memoryTask = "memory without mapped files";
const example = "the SDK's example";

async function measure(context: SuiteContext, results: Results): Promise<void> {
  const { workFolder, rounds, isQuick, progress } = context;
  const generator = await SmallRequests.compile(workFolder);
  const modules = await openCorpus("modules", context);
  const trawl = await startDaemon(context, "mcp");
  await trawl.add("modules", await cloneBare(modules, join(workFolder, "mcp-modules.git")), progress);
  const exampleUrl = await startExample(trawl, workFolder);
  const seconds = isQuick ? 0.3 : 1.5;
  const pace = { connections, ratePerSecond: undefined, seconds };
  progress("calls a second");
  const urls = [trawl.url, exampleUrl];
  const measured = await alternateWarm(
    rounds,
    urls.map((url) => () => generator.measure(url, [call], pace)),
  );
  results.grid(`Calls of keyword_search, ${connections} connections at full speed`, "trawl");
  for (const [at, subject] of ["trawl", example].entries()) record(subject, measured[at] ?? [], results);
  results.note(
    `Our daemon searches the corpus; ${example} answers at once with the text of our daemon's answer. Both serve the protocol of 2025, without sessions: that is what most assistants speak.`,
  );
  await measureMemory(trawl, generator, context, results);
  await trawl.stop();
  const times = results.ratio(callTask, "trawl", example);
  results.atLeast("MCP keyword_search, calls a second", "/s", results.median(callTask, "trawl"), { must: 2_000 });
  results.atLeast(`MCP keyword_search, calls a second ÷ ${example}`, "x", times, { must: 10 });
}

function record(subject: string, all: readonly SmallResult[], results: Results): void {
  results.more(
    callTask,
    subject,
    "/s",
    all.map(({ perSecond }) => perSecond),
  );
  results.less(
    "keyword_search, p99",
    subject,
    "ms",
    all.map(({ p99Ms }) => p99Ms),
  );
}

/** What the daemon holds after a tenth of the calls and after all of them, or of those that it answers in time. */
async function measureMemory(
  trawl: Trawl,
  generator: SmallRequests,
  { isQuick, progress }: SuiteContext,
  results: Results,
): Promise<void> {
  const wanted = isQuick ? 500 : 100_000;
  let answered = 0;
  const endMs = monotonicMs() + memoryMsMax;
  const callUntil = async (count: number): Promise<number> => {
    while (answered < count && monotonicMs() < endMs) {
      const pace = { connections, ratePerSecond: undefined, seconds: isQuick ? 0.5 : 2 };
      answered += (await generator.measure(trawl.url, [call], pace)).answered;
      progress(`memory, ${grouped(answered)} of ${grouped(wanted)} calls`);
    }
    return readMemory(trawl.pid).anonymousBytes / (1 << 20);
  };
  results.list(`Memory over ${grouped(wanted)} calls`);
  const early = await callUntil(wanted / 10);
  const late = await callUntil(wanted);
  if (answered < wanted)
    results.note(`Memory: only ${grouped(answered)} calls were answered within ${memoryMsMax / 1000} s.`);
  results.less(`${memoryTask}, a tenth of the calls`, "trawl", "MiB", early);
  results.less(`${memoryTask}, all calls`, "trawl", "MiB", late);
  const text = `${Math.round(early)} MiB early, ${Math.round(late)} MiB after ${grouped(answered)} calls`;
  results.atMost("MCP: growth of memory over the calls", "x", late / early, { must: 1.2, aim: 1.05 }, text);
}

const call: SmallRequest = {
  method: "POST",
  path: "/.api/mcp",
  headers: { "Content-Type": "application/json", Accept: "application/json, text/event-stream" },
  body: JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "keyword_search", arguments: { query: "lang:javascript getOwnPropertyDescriptor count:5" } },
  }),
};

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
