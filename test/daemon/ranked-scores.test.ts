/** The parts of scores, as the stream and `trawl explain` show them, and what decides between equal scores. */
import t from "tap";
import { SseDecoder } from "../../src/cli/connection/sse-decoder.js";
import { testDaemon, withSymbols, type DaemonProcess } from "../support/daemon.js";
import { fixture } from "../support/git-mirror.js";
import { until } from "../support/waiting.js";

interface Match {
  readonly type: string;
  readonly repository: string;
  readonly path: string;
  readonly debug?: string;
}

async function ask(daemon: DaemonProcess, query: string, parameters: string): Promise<readonly Match[]> {
  const search = new URLSearchParams({ q: query, t: "keyword" });
  const { text } = await daemon.get(`/.api/search/stream?${search}&${parameters}`);
  const events = new SseDecoder().push(Buffer.from(text)).filter(({ name }) => name === "matches");
  return events.flatMap(({ data }) => JSON.parse(data) as Match[]);
}

const part = "[\\d.]+";
const shown = new RegExp(
  `^score (\\d+) = \\(symbol (${part}) \\+ fileName (${part}) \\+ folders (${part}) \\+ line (${part})` +
    ` \\+ wholeWords (${part}) \\+ phrase (${part}) \\+ matches (${part})\\) × fileFactor (${part})` +
    `; stars (\\d+); committed (\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ)$`,
);

/** The numbers of a description: the score, its seven parts, the factor, the stars. */
function numbersOf(debug: string | undefined): number[] {
  return (shown.exec(debug ?? "") ?? []).slice(1, 11).map(Number);
}

t.test("scores", { timeout: 900_000 }, async (t) => {
  const daemon = await testDaemon(t, withSymbols);
  const files = {
    "src/flush.c": "int flush(void) { return 0; }\n",
    "src/other.c": "int flushAll(void) { flush(); }\n",
    "test/flush_test.c": "int test(void) { return flush(); }\n",
    'é/"quoted".c': "flush\n",
  };
  const early = fixture(t);
  early.commit({ branch: "main", files, seconds: 1_700_000_000 });
  const late = fixture(t);
  late.commit({ branch: "main", files, seconds: 1_800_000_000 });
  await daemon.add("host/a-early", early.path);
  await daemon.add("host/z-late", late.path);
  await until("symbols are known", async () => (await daemon.metric("trawl_index_shards_without_symbols")) === 0);

  for (const parameters of ["cm=t", "cm=f"]) {
    await t.test(`the stream with ${parameters}`, async (t) => {
      const plain = await ask(daemon, "flush", parameters);
      const described = await ask(daemon, "flush", `${parameters}&feat=search-debug`);
      t.same(
        described.map(({ debug, ...match }) => match),
        plain,
        "nothing else differs",
      );
      t.ok(plain.every((match) => !("debug" in match)));
      const rows = described.map(({ debug }) => numbersOf(debug));
      for (const [i, [score = -1, ...parts]] of rows.entries()) {
        const sum = parts.slice(0, 7).reduce((all, points) => all + points, 0);
        t.ok(Math.abs(score - sum * (parts[7] ?? 0)) < 1, described[i]?.debug ?? "");
        t.ok(i === 0 || score <= (rows[i - 1]?.[0] ?? 0), "the best come first");
      }
      const [symbol, test] = ["src/flush.c", "test/flush_test.c"].map((path) =>
        numbersOf(described.find((match) => match.path === path)?.debug),
      );
      t.equal(symbol?.[1], 1040, "a symbol that is spelled like the word");
      t.equal(symbol?.[8], 1);
      t.equal(test?.[1], 0);
      t.equal(test?.[8], 0.5, "a test");
    });
  }

  await t.test("of equal scores, the repository with the later commit is first, whatever its name", async (t) => {
    const matches = await ask(daemon, "flush file:src/flush", "feat=search-debug");
    t.same(
      matches.map(({ repository, debug }) => [repository, shown.exec(debug ?? "")?.[11]]),
      [
        ["host/z-late", "2027-01-15T08:00:00Z"],
        ["host/a-early", "2023-11-14T22:13:20Z"],
      ],
    );
    early.commit({ branch: "main", files: { "new.c": "x" }, seconds: 1_900_000_000 });
    await daemon.sync("host/a-early");
    const [first] = await ask(daemon, "flush file:src/flush", "");
    t.equal(first?.repository, "host/a-early");
  });

  await t.test("paths have scores too, results that are not ranked have none", async (t) => {
    const paths = await ask(daemon, "type:path flush", "feat=search-debug");
    t.equal(paths.length, 4);
    for (const { type, debug } of paths) t.ok(type === "path" && shown.test(debug ?? ""), debug ?? "none");
    for (const { debug } of await ask(daemon, "flush count:all", "feat=search-debug")) t.equal(debug, undefined);
  });

  await t.test("explain", async (t) => {
    const explain = async (query: string): Promise<string> =>
      String(await daemon.control("POST", "/explain", { query, patternType: "keyword" }));
    const matches = await ask(daemon, "flush", "feat=search-debug");
    const lines = matches.map(({ repository, path, debug }, i) => `${i + 1}. ${repository}:${path}: ${debug}`);
    t.equal(lines.length, 8);
    t.match(await explain("flush"), [`ranked: 8 documents`, ...lines, ""].join("\n"));
    t.match(await explain("flush count:all"), /^not ranked: /m);
    t.match(await explain("nothingLikeThis"), /^ranked: 0 documents$/m);
  });
});
