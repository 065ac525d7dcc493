import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { monotonicMs } from "../../src/base/deadline.js";
import { TrawlError } from "../../src/base/errors.js";
import type { StreamMatch } from "../../src/model/stream-events.js";
import { openMainCorpus } from "../corpus/corpus.js";
import { cloneBare } from "../corpus/repositories.js";
import { chooseIdentifiers } from "../corpus/words.js";
import { compare, ResultSet } from "../peers/peer.js";
import { findTools, openAnswer, readLineOutput, readStream } from "../peers/tools.js";
import { grouped } from "../report/numbers.js";
import type { Results } from "../report/results.js";
import { timeCommand } from "../system/processes.js";
import { longSearches, measureRows, startDaemon, type Suite, type SuiteContext } from "./suite.js";

/** A search for many literals in one pass, beside `rg -f`. */
export const patternsSuite: Suite = { name: "patterns", title: "Many literals in one pass", measure };

const literalCount = { full: 10_000, quick: 1_000 } as const;

/** Indexing symbols and the history would take minutes beside the searches, of which it would disturb only the first. */
const textsOnly = ["--set", "index.symbols=false", "--set", "index.historyBytes=0"];

const [onePass, rg] = ["one pass", "rg -f"];
const rgFlags = ["--no-config", "-uuu", "-j2", "-n", "--with-filename", "--no-heading", "--color=never", "-a", "-F"];

async function measure(context: SuiteContext, results: Results): Promise<void> {
  const { isQuick, workFolder, rounds, progress } = context;
  const tools = findTools(["rg"], "apt-get install ripgrep");
  const corpus = await openMainCorpus(context);
  const literals = await chooseIdentifiers(corpus, isQuick ? literalCount.quick : literalCount.full);
  const task = `${grouped(literals.length)} identifiers, every match`;
  const trawl = await startDaemon(context, "patterns-data", ...textsOnly, ...longSearches);
  await trawl.add(corpus.name, await cloneBare(corpus, join(workFolder, "patterns-corpus.git")), progress);
  const params = new URLSearchParams({ q: "case:yes count:all timeout:5m", t: "literal" });
  const url = `${trawl.url}/.api/search/stream?${params.toString()}`;
  const search = { url, body: JSON.stringify({ patterns: literals }) };
  const found = new ResultSet();
  await readStream(search, "the patterns", (event, data) => {
    if (event !== "matches") return;
    for (const { path = "", lineMatches = [] } of JSON.parse(data) as readonly StreamMatch[])
      for (const { lineNumber } of lineMatches) found.add(path, lineNumber + 1);
  });
  const lineCount = found.count;
  results.note(`${grouped(lineCount)} lines match.`, tools.kind === "missing" ? tools.reason : "");
  results.grid("Wall time of the whole answer", onePass);
  // The patterns are too long for an argument of curl.
  const answerMs = async (): Promise<number> => {
    const startedMs = monotonicMs();
    let byteCount = 0;
    for await (const bytes of await openAnswer(search)) byteCount += bytes.length;
    if (byteCount === 0) throw new TrawlError("internal", "the answer is empty");
    return monotonicMs() - startedMs;
  };
  if (tools.kind === "missing") await measureRows([[task, onePass, answerMs]], rounds, results);
  else {
    const file = join(workFolder, "patterns.txt");
    writeFileSync(file, `${literals.join("\n")}\n`);
    const command = [tools.programs[0] ?? "", ...rgFlags, "--glob=!.git", "-f", file, "--", corpus.path];
    progress("comparing with ripgrep");
    const { lines } = await readLineOutput(command, {}, `${corpus.path}/`);
    const sets = [
      { name: rg, lines },
      { name: onePass, lines: found },
    ] as const;
    const { unexplained, examples } = compare(...sets, () => undefined);
    if (unexplained > 0) results.note(`${unexplained} lines differ: ${examples.join(", ")}.`);
    // Files whose texts are not indexed may differ.
    if (unexplained > lineCount / 1000) results.setIncomparable(task, rg);
    progress("one pass, and rg -f");
    await measureRows(
      [
        [task, onePass, answerMs],
        [task, rg, () => timeCommand(command, {})],
      ],
      rounds,
      results,
    );
  }
  results.targets({ what: `${rg} ÷ ${onePass}`, of: [task, rg], over: [task, onePass], atLeast: [15, 25] });
  await trawl.stop();
}
