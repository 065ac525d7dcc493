/** What the harness makes of a run's record: pictures, report, comparison; and what its command refuses. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t, { type Test } from "tap";
import { run } from "../../native-bench/main.js";
import { type Change, compareRuns, mergeRuns } from "../../native-bench/report/compare.js";
import { renderReport, judge } from "../../native-bench/report/markdown.js";
import { markdownTable, terminalTable } from "../../native-bench/report/numbers.js";
import { renderPlot } from "../../native-bench/report/plot.js";
import { Results } from "../../native-bench/report/results.js";
import {
  machineSlug,
  newRunFolder,
  readRun,
  renderRun,
  withReplaced,
  writeRun,
} from "../../native-bench/report/run-folder.js";
import type {
  Axis,
  Plot,
  RunReport,
  Sample,
  Series,
  SuiteReport,
  Target,
} from "../../native-bench/report/run-report.js";
import { pageCacheBytes, runSuites } from "../../native-bench/run/runner.js";
import type { Suite } from "../../native-bench/suites/suite.js";
import { makeWorkFolder } from "../../native-bench/system/processes.js";
import { waitForQuiet } from "../../native-bench/system/measure.js";
import { TrawlError } from "../../src/base/errors.js";

const axis = (label: string, scale: Axis["scale"], ...categories: string[]): Axis => ({ label, scale, categories });

function plotOf(name: string, x: Axis, y: Axis, ...series: Series[]): Plot {
  return { name, title: `A title with <, > & "quotes"`, x, y, series };
}

const points = [
  { x: 0, y: 3, low: 2, high: 5 },
  { x: 1, y: 40 },
];

const plots: readonly Plot[] = [
  plotOf(
    "rows",
    axis("query", "category", "[a-z]+<&>", "kmalloc"),
    axis("time, ms", "log"),
    { name: "trawl", kind: "bars", points },
    { name: "rg & more", kind: "bars", points },
  ),
  plotOf(
    "dots",
    axis("query", "category", "a", "b"),
    axis("time, ms", "linear"),
    { name: "native", kind: "points", points },
    { name: "portable", kind: "points", points },
  ),
  plotOf(
    "lines",
    axis("clients", "linear"),
    axis("p99, ms", "log"),
    { name: "ours", kind: "line", points },
    { name: "theirs", kind: "line", points },
  ),
  plotOf("nothing", axis("x", "log"), axis("y", "log")),
];

const target: Target = { what: "a figure", unit: "ms", value: 3, better: "less", must: 4, aim: 2, note: "a|note" };

function suiteOf(samples: readonly Sample[]): SuiteReport {
  const table = {
    title: "A table",
    head: ["query", "ms"],
    rows: [
      ["(copy|move)_to_user", "3.5"],
      ["x", "12"],
    ],
  };
  return {
    suite: "one",
    title: "Suite one",
    seconds: 75,
    notes: ["A peer is not installed."],
    samples,
    tables: [table],
    plots,
    targets: [target],
  };
}

function runOf(...samples: Sample[]): RunReport {
  const machine = {
    processor: "AMD EPYC 7B13",
    cores: 2,
    memoryBytes: 25e9,
    kernel: "6.1",
    loadBefore: 0.1,
    pageCacheBytes: 1e9,
  };
  return {
    date: "2026-11-21T08:00:00.000Z",
    command: "trawl-bench all",
    environment: { machine, versions: { node: "v20" } },
    suites: [suiteOf(samples)],
  };
}

function sampleOf(task: string, better: Sample["better"], ...values: number[]): Sample {
  return { task, subject: "trawl", unit: "ms", better, values };
}

function temporaryFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), "trawl-bench-test-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** What is wrong with the tags and entities of an XML text; "" when nothing is. */
function xmlFault(text: string): string {
  const open: string[] = [];
  for (const [tag, closing, name = "", selfClosing] of text.matchAll(
    /<(\/?)([a-zA-Z][\w:-]*)(?:"[^"]*"|[^">])*?(\/?)>/g,
  )) {
    if (closing === "") {
      if (selfClosing === "") open.push(name);
    } else if (open.pop() !== name) return `${tag} closes nothing`;
  }
  const outside = text.replace(/<(?:"[^"]*"|[^">])*>/g, "").replace(/<!\[CDATA\[.*?\]\]>/gs, "");
  const bare = /&(?!(amp|lt|gt|quot|apos|#\d+|#x[0-9a-f]+);)|</.exec(outside);
  return open.length > 0 ? `${open.join()} not closed` : bare !== null ? `bare ${bare[0]}` : "";
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

t.test("a plot is well-formed, and names its axes, its categories and each series", async (t) => {
  for (const plot of plots) {
    const svg = renderPlot(plot);
    t.equal(xmlFault(svg), "", plot.name);
    const legend = plot.series.length > 1 ? plot.series.map(({ name }) => name) : [];
    for (const text of [plot.x.label, plot.y.label, ...plot.x.categories, ...legend])
      t.ok(svg.includes(`>${escaped(text)}<`), `${plot.name}: ${text}`);
    t.notMatch(svg, /NaN|undefined|Infinity/, plot.name);
  }
});

t.test("every series has its own colour", async (t) => {
  for (const { name, x, y, series } of plots.filter((plot) => plot.series.length > 0)) {
    const svg = renderPlot({ name, title: "t", x, y, series });
    for (const colour of ["#0072B2", "#D55E00"]) t.ok(svg.includes(colour), `${name}: ${colour}`);
    const without = renderPlot({ name, title: "t", x, y, series: series.map((each) => ({ ...each, points: [] })) });
    t.ok(svg.split("#0072B2").length > without.split("#0072B2").length, `${name}: points are drawn`);
  }
});

t.test("points that a logarithmic axis cannot show are omitted, and the plot says so", async (t) => {
  const plot = (y: number): Plot =>
    plotOf("zero", axis("x", "linear"), axis("y", "log"), {
      name: "a",
      kind: "line",
      points: [
        { x: 1, y },
        { x: 2, y: 5 },
      ],
    });
  t.match(renderPlot(plot(0)), /1 point at or below 0 not shown/);
  t.notMatch(renderPlot(plot(1)), /not shown/);
});

t.test("tables", async (t) => {
  const table = {
    title: "T",
    head: ["name", "ms"],
    rows: [
      ["a|b", "3"],
      ["c", "1,200"],
    ],
  };
  t.equal(markdownTable(table), "| name |    ms |\n| ---- | ----: |\n| a\\|b |     3 |\n| c    | 1,200 |");
  t.equal(terminalTable(table), "T\n───────────\nname     ms\n───────────\na|b       3\nc     1,200");
});

t.test("tables and plots are rendered from samples", async (t) => {
  const results = new Results(false);
  results.grid("Searches", "trawl", "searches");
  results.less("search a", "rg", "ms", [9, 10, 12], 1);
  results.less("search a", "trawl", "ms", 2, 1);
  results.less("search b", "rg", "ms", 3, 10);
  results.less("search b", "trawl", "ms", 3, 10);
  results.less("search c", "trawl", "ms", 7);
  results.setIncomparable("search b", "rg");
  results.less("search d", "rg", "ms", 0);
  results.less("search d", "trawl", "ms", 0);
  results.grid("Clients");
  results.more("8 clients", "answered", "/s", 100);
  results.less("8 clients", "p50", "ms", 3);
  results.list("One by one");
  results.less("index", "wall time", "s", [1, 2]);
  results.grid("Rows", undefined, "rows");
  results.less("row a", "rg", "ms", [1, 3, 5]);
  results.less("row b", "rg", "ms", 4);
  results.targets(
    { what: "a", of: ["search a", "rg"], over: ["search a", "trawl"], atLeast: [4, 6] },
    { what: "b", of: ["search b", "rg"], over: ["search b", "trawl"], atLeast: [4] },
    { what: "c", of: ["search c", "rg"], over: ["search c", "trawl"], atLeast: [4] },
    { what: "d", of: ["search a", "rg"], atMost: [11], unit: "s", scale: 1 / 1000 },
    { what: "e", value: 7, unit: "%", atMost: [5] },
  );
  const { tables, targets, plots } = results.findings();
  t.same(tables, [
    {
      title: "Searches",
      head: ["task", "unit", "rg", "trawl", "vs rg"],
      rows: [
        ["search a", "ms", "10 (9..12)", "2", "5x"],
        ["search b", "ms", "3", "3", "differs"],
        ["search c", "ms", "", "7", ""],
        ["search d", "ms", "0", "0", ""],
      ],
    },
    { title: "Clients", head: ["task", "answered, /s", "p50, ms"], rows: [["8 clients", "100", "3"]] },
    {
      title: "One by one",
      head: ["task", "subject", "unit", "median (min..max)", "values"],
      rows: [["index", "wall time", "s", "2 (1..2)", "2"]],
    },
    {
      title: "Rows",
      head: ["task", "unit", "rg"],
      rows: [
        ["row a", "ms", "3 (1..5)"],
        ["row b", "ms", "4"],
      ],
    },
  ]);
  t.match(targets, [
    { value: 5, unit: "x", better: "more", must: 4, aim: 6, note: "10 ms against 2" },
    { value: undefined, note: "the results differ" },
    { value: undefined, note: "rg is not measured" },
    { value: 0.01, unit: "s", better: "less", must: 11, aim: undefined, note: "10 (9..12)" },
    { value: 7, unit: "%", better: "less", must: 5 },
  ]);
  const shown = plots.map(({ name, x, series }) => [
    ...[name, x.scale, x.categories],
    series.map((each) => [each.name, each.points.map((point) => [point.x, point.y])]),
  ]);
  const two = (first: number): number[][] => [
    [1, first],
    [10, 3],
  ];
  t.same(shown, [
    [
      ...["searches", "log", []],
      [
        ["rg", two(10)],
        ["trawl", two(2)],
      ],
    ],
    [
      ...["rows", "category", ["row a", "row b"]],
      [
        [
          "rg",
          [
            [0, 3],
            [1, 4],
          ],
        ],
      ],
    ],
  ]);
  const quick = new Results(true);
  quick.targets({ what: "a", value: 3, atMost: [1] });
  t.match(quick.findings().targets, [{ must: undefined, aim: undefined }], "a quick run has no limits");
});

t.test("verdicts", async (t) => {
  const rows: readonly (readonly [Partial<Target>, string])[] = [
    [{ value: 2 }, "meets aim"],
    [{ value: 4 }, "meets must"],
    [{ value: 4.1 }, "MISSES MUST"],
    [{ value: undefined }, "not measured"],
    [{ value: NaN }, "not measured"],
    [{ better: "more", value: 4 }, "meets aim"],
    [{ better: "more", value: 3 }, "MISSES MUST"],
    [{ must: undefined, aim: undefined }, ""],
    [{ must: undefined, value: 3 }, "misses aim"],
    [{ aim: undefined }, "meets must"],
  ];
  for (const [change, verdict] of rows) t.equal(judge({ ...target, ...change }), verdict, JSON.stringify(change));
});

t.test("writing a run, reading it and writing it again gives the same report, plots and record", async (t) => {
  const record = runOf(sampleOf("search", "less", 1.23456789, 2, 3));
  const folder = newRunFolder(temporaryFolder(t), record, "");
  t.match(folder, /2026-11-21-epyc-7b13-2core$/);
  writeRun(folder, record);
  t.same(readRun(folder).suites[0]?.samples[0]?.values, [1.23457, 2, 3]);
  t.same(readRun(folder).suites[0]?.plots, plots);
  const file = JSON.parse(readFileSync(join(folder, "run.json"), "utf8")) as { parts: Record<string, unknown>[] };
  t.match(file.parts, [{ part: "one", claims: [{ what: "a figure" }] }], "the file keeps the keys of older runs");
  const report = readFileSync(join(folder, "report.md"), "utf8");
  t.equal(report, renderReport(record));
  for (const part of [
    "AMD EPYC 7B13, 2 cores",
    "A peer is not installed.",
    "(copy\\|move)_to_user",
    "meets must",
    "a\\|note",
    "1 min 15 s",
  ])
    t.ok(report.includes(part), part);
  for (const [, target = ""] of report.matchAll(/\]\(([^)]+)\)/g))
    t.ok(readFileSync(join(folder, target)).length > 0, target);
  for (const { name } of plots) {
    t.match(readFileSync(join(folder, `${name}.svg`), "utf8"), /^<svg /, name);
    t.ok(report.includes(`\`${name}.svg\``), `the report names ${name}`);
  }
  t.match(newRunFolder(join(folder, ".."), record, ""), /2core-2$/, "the next run of the day gets a folder of its own");
});

t.test("rendering the newest committed run again gives the same report", async (t) => {
  const runs = new URL("../../../native-bench/runs/", import.meta.url);
  const [newest] = readdirSync(runs).sort().reverse();
  const committed = new URL(`${newest}/`, runs);
  const folder = temporaryFolder(t);
  renderRun(folder, readRun(fileURLToPath(committed)));
  t.same(
    readdirSync(committed)
      .filter((name) => !name.endsWith(".svg"))
      .sort(),
    ["report.md", "run.json"],
  );
  const [again, kept] = [folder, fileURLToPath(committed)].map((of) => readFileSync(join(of, "report.md"), "utf8"));
  t.equal(again, kept);
});

t.test("an interrupted run keeps the measured suites, and lists the missing ones", async (t) => {
  const [cache, out] = [temporaryFolder(t), join(temporaryFolder(t), "run")];
  const former = process.env["XDG_CACHE_HOME"];
  process.env["XDG_CACHE_HOME"] = cache;
  t.teardown(() => {
    if (former === undefined) delete process.env["XDG_CACHE_HOME"];
    else process.env["XDG_CACHE_HOME"] = former;
  });
  const suiteNamed = (name: string, measure: (results: Results) => void): Suite => ({
    name,
    title: name,
    measure: async (_, results) => measure(results),
  });
  let between: RunReport | undefined;
  const parts = [
    suiteNamed("one", (results) => results.less("search", "trawl", "ms", 1)),
    suiteNamed("two", (results) => {
      between = readRun(out);
      results.less("search", "trawl", "ms", 2);
      throw new TrawlError("internal", "two cannot be measured");
    }),
  ];
  const quiet = t.capture(process.stdout, "write", () => true);
  const failed = await runSuites(parts, {
    command: "trawl-bench all",
    isQuick: true,
    rounds: 1,
    out,
    suffix: "",
    quietLimitMs: 0,
    versions: {},
  }).finally(() => quiet.restore());
  t.same([between?.suites.map(({ suite }) => suite), between?.notRun], [["one"], ["two"]]);
  t.match(between === undefined ? "" : renderReport(between), /is not whole:\*\* it was interrupted before `two`/);
  const whole = readRun(out);
  t.same([whole.suites.map(({ suite }) => suite), whole.notRun, failed], [["one", "two"], undefined, ["two"]]);
  t.match(whole.suites[1]?.notes, [/two cannot be measured/]);
  t.match(whole.suites[1]?.samples, [{ values: [2] }], "what was measured before the failure is kept");
  t.notMatch(renderReport(whole), /not whole/);
});

t.test("a run waits for an idle machine, and reports if it was busy", async (t) => {
  const { machine, versions } = runOf().environment;
  const reportOf = (loadBefore: number, busyBefore: number): string =>
    renderReport({ ...runOf(), environment: { machine: { ...machine, loadBefore, busyBefore }, versions } });
  t.match(reportOf(0.1, 0.4), /machine was busy/);
  t.notMatch(reportOf(1.9, 0.01), /machine was busy/, "the load of the last minute tells of what has ended");
  const said: string[] = [];
  const share = await waitForQuiet(0, (text) => said.push(text));
  t.ok(share >= 0 && share <= 1, String(share));
  t.same(said, [], "it does not wait when its time is over");
});

t.test("a record contains no paths of this machine", async (t) => {
  const record = { ...runOf(), command: "trawl-bench --out /home/me/x/y /home/me/x" };
  t.equal(
    withReplaced(
      record,
      new Map([
        ["/home/me", "$HOME"],
        ["/home/me/x", "$WORK"],
      ]),
    ).command,
    "trawl-bench --out $WORK/y $WORK",
  );
});

t.test("the name of a machine", async (t) => {
  const rows = [
    ["AMD EPYC", "epyc"],
    ["Intel(R) Xeon(R) CPU @ 2.20GHz", "xeon"],
    ["AMD Ryzen 9 7950X 16-Core Processor", "ryzen-9-7950x"],
    ["Intel(R) Core(TM) i7-8700 CPU @ 3.20GHz", "core-i7-8700"],
    ["", "machine"],
  ] as const;
  const { machine } = runOf().environment;
  for (const [processor, slug] of rows) t.equal(machineSlug({ ...machine, processor }), `${slug}-2core`);
  t.equal(pageCacheBytes("MemFree: 1 kB\nCached:        2048 kB\nSwapCached: 7 kB\n"), 2 << 20);
});

t.test("a comparison finds real differences, and none in noise", async (t) => {
  const base = [100, 101, 99, 103, 98];
  const rows: readonly (readonly [string, Sample["better"], readonly number[], Change])[] = [
    ["slower", "less", base.map((value) => value * 1.2), "worse"],
    ["faster", "less", base.map((value) => value * 0.8), "better"],
    ["more throughput", "more", base.map((value) => value * 1.2), "better"],
    ["less throughput", "more", base.map((value) => value * 0.8), "worse"],
    ["noise", "less", [103, 97, 100, 102, 101], "same within noise"],
    ["wide", "less", [60, 180, 115, 101, 150], "same within noise"],
    ["apart, but by too little", "less", base.map((value) => 100 + (value - 100) / 100 + 2), "same within noise"],
    ["one value", "less", [500], "too few values"],
  ];
  const before = runOf(
    ...rows.map(([task, better]) =>
      sampleOf(task, better, ...(task.startsWith("apart") ? base.map((value) => 100 + (value - 100) / 100) : base)),
    ),
    sampleOf("gone", "less", 1),
  );
  const after = runOf(
    ...rows.map(([task, better, values]) => sampleOf(task, better, ...values)),
    sampleOf("added", "less", 1),
  );
  const { rows: compared, onlyBefore, onlyAfter } = compareRuns(before, after);
  for (const [task, , , change] of rows)
    t.equal(compared.find(({ sample }) => sample.task === task)?.change, change, task);
  t.same([onlyBefore, onlyAfter], [["gone, trawl (ms)"], ["added, trawl (ms)"]]);
  const changes = compared.map(({ change }) => change === "better" || change === "worse");
  t.same(
    changes,
    [...changes].sort((a, b) => Number(b) - Number(a)),
    "what differs comes first",
  );
});

t.test("repetitions of a run are combined", async (t) => {
  const merged = mergeRuns(runOf(sampleOf("search", "less", 1, 2)), [
    runOf(sampleOf("search", "less", 3)),
    runOf(sampleOf("other", "less", 9)),
  ]);
  t.same(merged.suites[0]?.samples[0]?.values, [1, 2, 3]);
});

t.test("the next run deletes the folder of a killed one", async (t) => {
  const cache = temporaryFolder(t);
  const own = makeWorkFolder(cache);
  const other = own.replace(`run-${process.pid}-`, "run-999999999-");
  writeRun(other, runOf());
  t.not(makeWorkFolder(cache), own);
  t.throws(() => readRun(other), /there is no run.json/);
});

t.test("the command rejects invalid arguments with clear messages", async (t) => {
  const folder = temporaryFolder(t);
  const rows: readonly (readonly [readonly string[], RegExp])[] = [
    [["all", "--only", "nope"], /there is no suite "nope"; there are .*index/],
    [["all", "--only", ","], /there is no suite/],
    [["all", "--rounds", "2"], /--rounds 2 is too few/],
    [["quick", "--rounds", "many"], /--rounds takes a whole number from 1 to 100, not "many"/],
    [["report", folder], /is not the folder of a run: there is no run.json in it/],
    [["compare", folder, "HEAD"], /is not the folder of a run/],
    [["compare", "no-such-revision", "HEAD"], /no-such-revision is neither the folder of a run nor a revision/],
    [["bogus"], /unknown command/],
  ];
  for (const [args, message] of rows) {
    const { code, said } = await commandOf(t, args);
    t.equal(code, 2, args.join(" "));
    t.match(said, message, args.join(" "));
  }
  t.equal((await commandOf(t, ["--help"])).code, 0);
});

async function commandOf(t: Test, args: readonly string[]): Promise<{ readonly code: number; readonly said: string }> {
  let said = "";
  const keep = t.capture(process.stderr, "write", (text: unknown) => {
    said += String(text);
    return true;
  });
  const quiet = t.capture(process.stdout, "write", () => true);
  try {
    return { code: await run(["node", "trawl-bench", ...args]), said };
  } finally {
    keep.restore();
    quiet.restore();
  }
}
