import t from "tap";
import { GitFixture } from "../../support/git-fixture.js";
import type { ExecutedFiles } from "../../support/daemon.js";
import { until } from "../../support/waiting.js";

// How many modules one search runs through: as many as somebody reads who wants to know what a search does.

// A bundle does not tell which module a function is from.
delete process.env["TRAWL_BUNDLE"];
const { testDaemon, withSymbols } = await import("../../support/daemon.js");

/** A new step of a search belongs in the file in which its neighbours are read. */
const filesMax = 100;

const runsMax = 20;

/** The modules that ran in each of the searches: clocks and collectors run in some of them only. */
function common(runs: readonly ExecutedFiles[]): ExecutedFiles {
  const inAll = (part: keyof ExecutedFiles): string[] =>
    (runs[0]?.[part] ?? []).filter((file) => runs.every((run) => run[part].includes(file))).sort();
  return { main: inAll("main"), threads: inAll("threads") };
}

t.test("a warm search runs through few files", async (t) => {
  const fixture = GitFixture.create();
  t.teardown(() => fixture.remove());
  fixture.commit({ branch: "main", files: { "a.go": "package a\n\nfunc needle() {}\n", "b.txt": "a needle\n" } });
  const hook = new URL("../../support/executed-files.js", import.meta.url).href;
  const daemon = await testDaemon(t, withSymbols, undefined, { NODE_OPTIONS: `--import=${hook}` });
  await daemon.add("example.org/a", fixture.path);
  await until("its symbols are indexed", async () => (await daemon.metric("trawl_index_shards_without_symbols")) === 0);
  for (const [name, query, type] of [
    ["one word", "needle count:all", "literal"],
    ["a regexp", "repo:example lang:go ne+dle count:all", "regexp"],
    ["ranked", "needle", "literal"],
  ] as const) {
    const runs: ExecutedFiles[] = [];
    let shared: ExecutedFiles = { main: [], threads: [] };
    let all = new Set<string>();
    // Of the first two, V8 compiles the code. Later ones count with what they have in common: a search that waits long for a processor
    // reports its progress, too.
    for (let run = 0; run < 4 || (all.size > filesMax && run < runsMax); run++) {
      await daemon.executedFiles();
      await daemon.get(`/.api/search/stream?${new URLSearchParams({ q: query, v: "V3", t: type, display: "50" })}`);
      const executed = await daemon.executedFiles();
      if (run > 1) runs.push(executed);
      shared = common(runs);
      all = new Set([...shared.main, ...shared.threads]);
    }
    t.ok(all.has("src/eval/shard-search"), name);
    t.ok(all.size <= filesMax, `${name}: ${all.size} files, ${shared.main.length} of them in the main thread`);
    if (process.env["EXECUTED"] !== undefined) t.comment({ name, ...shared });
  }
});
