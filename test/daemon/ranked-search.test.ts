/** Ranked searches: the same order in every run and with any number of threads, and the same results as unranked ones. */
import { cpSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import t, { type Test } from "tap";
import { SseDecoder } from "../../src/cli/connection/sse-decoder.js";
import type { Progress, Filter, StreamMatch } from "../../src/model/stream-events.js";
import { dataDirectory, type DaemonProcess, testDaemon, withSymbols } from "../support/daemon.js";
import { chosen, isFull } from "../support/full-run.js";
import { fixture } from "../support/git-mirror.js";
import { randomFrom } from "../support/random.js";
import { until } from "../support/waiting.js";

const words = ["alpha", "beta", "gamma", "delta", "Alphabet", "betaGamma", "gamma_delta"];
const folders = ["src", "lib/core", "test", "vendor/x", "docs"];

/** Files of some words, the same for the same seed. */
function makeFiles(seed: number, count: number): Record<string, string> {
  const random = randomFrom(seed);
  const word = (): string => words[random(words.length)];
  return Object.fromEntries(
    Array.from({ length: count }, (_, i) => [
      `${folders[random(folders.length)]}/${word()}_${i}.c`,
      Array.from({ length: 5 + random(isFull ? 30 : 8) }, () =>
        random(4) === 0 ? `int ${word()}_${random(9)}(void) { return 0; }` : `${word()} = ${word()};`,
      ).join("\n"),
    ]),
  );
}

interface Answer {
  readonly matches: readonly StreamMatch[];
  readonly progress: Progress;
  /** What is counted, by the value of its filter. */
  readonly counts: Readonly<Record<string, number>>;
}

async function ask(daemon: DaemonProcess, query: string, parameters = ""): Promise<Answer> {
  const search = new URLSearchParams({ q: query, t: "keyword" });
  const { text } = await daemon.get(`/.api/search/stream?${search}&${parameters}`);
  const events = new SseDecoder().push(Buffer.from(text));
  const of = (name: string): unknown[] =>
    events.filter((event) => event.name === name).map(({ data }) => JSON.parse(data) as unknown);
  const filters = (of("filters").at(-1) ?? []) as Filter[];
  return {
    matches: of("matches").flat() as StreamMatch[],
    progress: of("progress").at(-1) as Progress,
    counts: Object.fromEntries(filters.map(({ value, count }) => [value, count])),
  };
}

/** The results as text, without the time at which their repository was fetched. */
function textOf(matches: readonly StreamMatch[]): string[] {
  return matches.map((match) => JSON.stringify({ ...match, repoLastFetched: undefined }));
}

/** `t.same` takes longer than the searches, whose results are mostly the same. */
function sameTexts(t: Test, found: unknown, expected: unknown, what: string): void {
  if (isDeepStrictEqual(found, expected)) t.pass(what);
  else t.same(found, expected, what);
}

const options = (workers: number): readonly string[] => [
  ...withSymbols,
  "--set",
  `workers=${workers}`,
  "--set",
  "index.historyBytes=0",
];
const data = dataDirectory(t);

/** Repositories with so many files. */
async function addRepositories(daemon: DaemonProcess, folder: string, fileCounts: readonly number[]): Promise<void> {
  for (const [i, count] of fileCounts.entries()) {
    const source = fixture(t);
    source.commit({ branch: "main", files: makeFiles(count + i, count) });
    source.commit({ branch: "other", files: { ...makeFiles(count + i, count), "other.c": "gamma = beta;\ngamma" } });
    await daemon.add(`${folder}/${i}`, source.path, ["main", "other"]);
  }
}

/** In each of thirty files. */
const wideLineCount = 100;

/** Different numbers of threads, with the same shards. */
const daemons: DaemonProcess[] = [];

t.before(async () => {
  const first = await testDaemon(t, options(1), data);
  await addRepositories(first, "few", [70, 50, 3]);
  // More contents than ranking examines, in several shards.
  await addRepositories(first, "many", [700, 90]);
  // More than a client can be sent before it has read some of it.
  const wide = fixture(t);
  const line = (i: number): string => `epsilon ${i} ${"wide ".repeat(240)}`;
  const lines = Array.from({ length: wideLineCount }, (_, i) => line(i)).join("\n");
  wide.commit({
    branch: "main",
    files: Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`w${i}.txt`, `${i}\n${lines}`])),
  });
  await first.add("wide", wide.path);
  await until("symbols are known", async () => (await first.metric("trawl_index_shards_without_symbols")) === 0);
  const copy = dataDirectory(t);
  // What a daemon that is killed here leaves behind.
  first.signal("SIGSTOP");
  cpSync(data, copy, { recursive: true, filter: (path) => !path.endsWith(".sock") });
  first.signal("SIGCONT");
  daemons.push(first, await testDaemon(t, options(isFull ? 4 : 2), copy));
});

const queries = [
  "beta gamma",
  "(gamma or delta)",
  "alpha -file:test",
  "/b[a-z]+a/ lang:c",
  "file:core",
  "type:path alpha",
  "(alpha_1.c or vendor)",
];

t.test("ranked searches", { timeout: 3_600_000 }, async (t) => {
  const ranked = chosen(queries, "beta gamma", "alpha -file:test", "/b[a-z]+a/ lang:c", "type:path alpha");
  for (const [at, query] of ranked.map((one) => `repo:^few/ ${one}`).entries()) {
    t.test(query, async (t) => {
      const all = textOf((await ask(daemons[0]!, `${query} count:all`)).matches);
      const expected = (await ask(daemons[0]!, query, "display=40")).matches;
      for (const [i, daemon] of daemons.entries()) {
        for (let run = isFull ? 0 : 1 - i; run < (isFull ? 2 : 1); run++) {
          const { matches } = await ask(daemon, query, "display=40");
          sameTexts(t, textOf(matches), textOf(expected), "the same matches in the same order");
        }
        // In `make test` each of the two is asked of one daemon.
        const isFirst = at % 2 === i;
        if (isFull || isFirst) {
          const { matches, progress } = await ask(daemon, query);
          sameTexts(t, textOf(matches).sort(), [...all].sort(), "all results, each once");
          t.same(progress.skipped, []);
        }
        if (isFull || !isFirst) {
          const limited = await ask(daemon, `${query} count:7`);
          t.equal(limited.progress.matchCount, 7);
          t.same(limited.matches[0]?.path, expected[0]?.path, "a limit leaves the best results");
        }
      }
    });
  }
});

t.test("names of repositories come before texts, whichever are found sooner", async (t) => {
  const daemon = daemons[0]!;
  // To look up so many words in names takes the main thread longer than a search thread needs to find a text.
  const words = Array.from({ length: 900 }, (_, i) => `q${i}`).join(" or ");
  // The second one is not ranked, because its parts have limits of their own.
  const limited = ["wide count:3", "(wide count:3) or (beta count:5)"];
  for (const query of limited) {
    const busy = Array.from({ length: 5 }, () => ask(daemon, `(${words}) count:2`));
    const answers = await Promise.all(Array.from({ length: 4 }, () => ask(daemon, query)));
    await Promise.all(busy);
    for (const { matches } of answers)
      t.match(matches, [{ type: "repo", repository: "wide" }, { type: "content" }], query);
  }
});

/** The results that are in the order of their scores; the others follow as they are found. */
const rankedCount = 50;

/** Each with what is counted, which does not depend on what is shown. */
const countedQueries = [
  ...chosen(queries, "(gamma or delta)", "file:core", "type:path alpha", "(alpha_1.c or vendor)").map(
    (one) => `repo:^few/ ${one}`,
  ),
  "alpha",
  "alpha select:file",
  "beta select:content",
  "gamma type:file",
  "alpha type:path",
  "delta file:core case:yes",
  "rev:main:other repo:^few/ gamma",
  "rev:main:other repo:^few/ beta select:file",
];

t.test("what is not shown is counted", { timeout: 3_600_000 }, async (t) => {
  for (const [at, query] of countedQueries.entries()) {
    t.test(query, async (t) => {
      const all = await ask(daemons[0]!, `${query} count:all`);
      for (const daemon of isFull ? daemons : [daemons[at % daemons.length]!]) {
        const first = isFull || at % 4 === 0 ? await ask(daemon, `${query} count:99999`, "display=60") : undefined;
        for (const display of isFull ? [1, 5, 60] : [5]) {
          const { matches, progress, counts } = await ask(daemon, `${query} count:99999`, `display=${display}`);
          t.equal(progress.matchCount, all.progress.matchCount, `matches, of which ${display} are shown`);
          t.same(counts, all.counts, `filters, with ${display} matches shown`);
          if (first === undefined) continue;
          const alike = Math.min(rankedCount, matches.length - 1);
          sameTexts(t, textOf(matches.slice(0, alike)), textOf(first.matches.slice(0, alike)), "the same come first");
        }
        for (const count of isFull ? [20, all.progress.matchCount >> 1] : [all.progress.matchCount >> 1]) {
          const cut = await ask(daemon, `${query} count:${count}`, "display=5");
          t.equal(cut.progress.matchCount, count, `a limit of ${count}`);
          t.equal(
            Object.entries(cut.counts).reduce((sum, [value, one]) => sum + (value.startsWith("repo:") ? one : 0), 0),
            count,
            "each counted match is in a repository",
          );
        }
      }
    });
  }
});

t.test("ranked results that are written in parts are whole", { timeout: 3_600_000 }, async (t) => {
  const forms = ["", "cm=true"];
  for (const [at, daemon] of daemons.entries()) {
    for (const form of isFull ? forms : [forms[at]!]) {
      const all = await ask(daemon, "repo:^wide$ epsilon count:all", form);
      const { matches, progress } = await ask(daemon, "repo:^wide$ epsilon count:50000", form);
      t.equal(progress.matchCount, 30 * wideLineCount);
      sameTexts(t, rangesByPath(matches), rangesByPath(all.matches), form);
    }
  }
});

/** By path, the lines of all matches; those of one file may come in several objects. */
function rangesByPath(matches: readonly StreamMatch[]): Record<string, string[]> {
  const found: Record<string, string[]> = {};
  for (const match of matches) {
    const parts = match.lineMatches ?? match.chunkMatches ?? [];
    (found[match.path ?? ""] ??= []).push(...parts.map((part) => JSON.stringify(part)));
  }
  return found;
}

/** Searches of each daemon; `RANKED_RUNS=1000` asks more often. */
const runCount = Number(process.env["RANKED_RUNS"] ?? (isFull ? 4 : 2));
const clientCount = Math.min(runCount, 4);

t.test(
  "the order is the same in every run where a budget decides what is ranked",
  { timeout: 3_600_000 },
  async (t) => {
    for (const query of ["alpha", "beta gamma"]) {
      const orders = new Set<string>();
      for (const daemon of daemons) {
        for (let run = 0; run < runCount; run += clientCount) {
          const answers = await Promise.all(Array.from({ length: clientCount }, () => ask(daemon, query)));
          for (const { matches } of answers) orders.add(textOf(matches.slice(0, rankedCount)).join("\n"));
        }
      }
      t.equal(orders.size, 1, query);
      t.equal([...orders][0]?.split("\n").length, rankedCount);
    }
  },
);
