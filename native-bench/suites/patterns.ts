import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { TrawlError } from "../../src/base/errors.js";
import type { StreamMatch } from "../../src/model/stream-events.js";
import { type Corpus, openMainCorpus } from "../corpus/corpus.js";
import { cloneBare, readSource, smallFiles } from "../corpus/repositories.js";
import { streamRequest } from "../load/request.js";
import { runClients } from "../load/run-load.js";
import { type NamedSet, ResultSet, compare } from "../peers/peer.js";
import { findTools, openAnswer, readLineOutput, readStream } from "../peers/tools.js";
import type { Trawl } from "../peers/trawl.js";
import { grouped } from "../report/numbers.js";
import type { Results } from "../report/results.js";
import { alternateWarm } from "../system/measure.js";
import { timeCommand } from "../system/processes.js";
import { longSearches, startDaemon, type Suite, type SuiteContext } from "./suite.js";

/** A search for many literals in one pass, beside one search for each and beside `rg -f`. */
export const patternsSuite: Suite = {
  name: "patterns",
  title: "Many literals in one pass",
  estimateSeconds: { quick: 30, full: 180 },
  measure,
};

const literalCount = { full: 10_000, quick: 1_000 } as const;

/** Each n-th source file gives identifiers. */
const fileStep = 7;
const fileBytesMax = 1 << 20;

const rounds = 5;
const clients = 2;
const searchSecondsMax = 90;

/** Indexing symbols and the history would take minutes beside the searches, of which it would disturb only the first. */
const textsOnly = ["--set", "index.symbols=false", "--set", "index.historyBytes=0"];

const ours = "one pass";
const each = "a search for each";
const rg = "rg -f";

async function measure(context: SuiteContext, results: Results): Promise<void> {
  const { isQuick, workFolder, progress } = context;
  const tools = findTools(["rg"], "apt-get install ripgrep");
  const corpus = await openMainCorpus(context);
  const literals = await chooseLiterals(corpus, isQuick ? literalCount.quick : literalCount.full);
  const task = `${grouped(literals.length)} identifiers, every match`;
  const trawl = await startDaemon(context, "patterns-data", ...textsOnly, ...longSearches);
  await trawl.add(corpus.name, await cloneBare(corpus, join(workFolder, "patterns-corpus.git")), progress);
  const search = searchFor(trawl, literals);
  const found = { name: ours, lines: await readLines(search) };
  results.grid("Wall time of the whole answer", ours);
  if (tools.kind === "missing") {
    results.note(tools.reason);
    results.less(task, ours, "ms", (await alternateWarm(rounds, [() => answerMs(search)]))[0] ?? []);
  } else {
    const file = join(workFolder, "patterns.txt");
    writeFileSync(file, `${literals.join("\n")}\n`);
    const flags = ["--no-config", "-uuu", "-j2", "-n", "--with-filename", "--no-heading", "--color=never", "-a", "-F"];
    const command = [tools.programs[0] ?? "", ...flags, "--glob=!.git", "-f", file, "--", corpus.path];
    progress("comparing with ripgrep");
    const { lines } = await readLineOutput(command, {}, `${corpus.path}/`);
    requireEqual({ name: rg, lines }, found, task, results);
    progress("one pass, and rg -f");
    const [own = [], peer = []] = await alternateWarm(rounds, [() => answerMs(search), () => timeCommand(command, {})]);
    results.less(task, ours, "ms", own);
    results.less(task, rg, "ms", peer);
  }
  progress("a search for each");
  results.less(task, each, "ms", await timeSearches(trawl, literals));
  results.note(`${grouped(found.lines.count)} lines match. The searches for each came from ${clients} clients.`);
  results.atLeast(`${each} ÷ ${ours}`, "x", results.ratio(task, each, ours), { must: 50, aim: 500 });
  results.atLeast(`${rg} ÷ ${ours}`, "x", results.ratio(task, rg, ours), { must: 2, aim: 10 });
  await trawl.stop();
}

/** Distinct identifiers of eight bytes or more, in the order of their hashes: most occur in few files. */
async function chooseLiterals(corpus: Corpus, count: number): Promise<readonly string[]> {
  const paths = (await smallFiles(corpus, fileBytesMax)).filter((path) => /\.(c|h|js|ts)$/.test(path));
  const words = new Set<string>();
  for (const [i, path] of paths.entries()) {
    if (i % fileStep !== 0) continue;
    for (const [word] of readSource(corpus, path)
      .text.toString("latin1")
      .matchAll(/[A-Za-z_][A-Za-z0-9_]{7,63}/g))
      words.add(word);
  }
  const hash = (word: string): string => createHash("sha1").update(word).digest("hex");
  const ordered = [...words].map((word) => ({ word, key: hash(word) })).sort((a, b) => (a.key < b.key ? -1 : 1));
  return ordered.slice(0, count).map(({ word }) => word);
}

function searchFor({ url }: Trawl, patterns: readonly string[]): { readonly url: string; readonly body: string } {
  const params = new URLSearchParams({ q: "case:yes count:all timeout:5m", t: "literal" });
  return { url: `${url}/.api/search/stream?${params.toString()}`, body: JSON.stringify({ patterns }) };
}

/** Milliseconds until the whole answer was read. The patterns are too long for an argument of curl. */
async function answerMs(search: { readonly url: string; readonly body: string }): Promise<number> {
  const startedMs = performance.now();
  let byteCount = 0;
  for await (const bytes of await openAnswer(search)) byteCount += bytes.length;
  if (byteCount === 0) throw new TrawlError("internal", "the answer is empty");
  return performance.now() - startedMs;
}

async function readLines(search: { readonly url: string; readonly body: string }): Promise<ResultSet> {
  const lines = new ResultSet();
  await readStream(search, "the patterns", (event, data) => {
    if (event !== "matches") return;
    for (const { path = "", lineMatches = [] } of JSON.parse(data) as readonly StreamMatch[])
      for (const { lineNumber } of lineMatches) lines.add(path, lineNumber + 1);
  });
  return lines;
}

/** Files whose texts are not indexed may differ. */
function requireEqual(peer: NamedSet, found: NamedSet, task: string, results: Results): void {
  const { unexplained, examples } = compare(peer, found, () => undefined);
  if (unexplained === 0) return;
  results.note(`${unexplained} lines differ: ${examples.join(", ")}.`);
  if (unexplained > found.lines.count / 1000) results.setIncomparable(task, rg);
}

/** Milliseconds of a search for each literal; where not all were done in time, in proportion. */
async function timeSearches(trawl: Trawl, literals: readonly string[]): Promise<number> {
  const requests = literals.map((literal) => streamRequest(`type:file case:yes count:all ${literal}`, "literal"));
  const startedMs = performance.now();
  const limits = { durationSeconds: searchSecondsMax, requestsMax: literals.length };
  const { whole } = (await runClients(trawl.url, { kind: "closed", concurrency: clients }, requests, limits)).of;
  if (whole === 0) throw new TrawlError("internal", "no search was answered");
  return ((performance.now() - startedMs) / whole) * literals.length;
}
