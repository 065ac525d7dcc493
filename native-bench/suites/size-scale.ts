import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { TrawlError } from "../../src/base/errors.js";
import { openMainCorpus, type Corpus } from "../corpus/corpus.js";
import { makeSize, openScaled, scaledMarker, type Scaled, type ScaledSize } from "../corpus/scaled.js";
import { literal, regexp, streamParams, type BenchQuery } from "../peers/queries.js";
import { Trawl } from "../peers/trawl.js";
import { axis, less, line, rowTable, spreadPoint, table, type Column } from "../report/build.js";
import type { Findings, Plot, Sample, Series } from "../report/run-report.js";
import { atMost, limits } from "../report/targets.js";
import { alternateWarm, median, watchMemory } from "../system/measure.js";
import { fitExponent } from "./exponent.js";
import { measureIndex, type IndexRun } from "./indexing.js";
import type { Suite, SuiteContext } from "./suite.js";

/** How time and memory grow with the corpus. */
export const sizeScaleSuite: Suite = {
  name: "size-scale",
  title: "Time and memory against the size of the corpus",
  estimateSeconds: { quick: 30, full: 230 },
  measure,
};

/** As multiples of the corpus. */
const sizes = { full: [1 / 8, 1 / 2, 1, 2], quick: [1 / 4, 1 / 2, 1] };

interface ScaleQuery {
  readonly name: string;
  readonly query: BenchQuery;
  /** The limits of its exponent. */
  readonly must?: number;
  readonly aim?: number;
}

const untargeted = { must: {}, aim: {} };

/** The rare one is found once at every size. */
const scaleQueries: readonly ScaleQuery[] = [
  { name: "rare literal", query: literal(scaledMarker, untargeted), must: 0.3, aim: 0 },
  { name: "common literal, TODO", query: literal("TODO", untargeted) },
  { name: "dense literal, return", query: literal("return", untargeted), must: 1.05, aim: 1 },
  { name: "regexp without a literal", query: regexp("[a-z]+[0-9]+_[a-z]+\\(", untargeted) },
];

interface SizeOutcome extends ScaledSize {
  readonly index: IndexRun;
  /** Of each query, in milliseconds, in the order of the table. */
  readonly timesMs: readonly (readonly number[])[];
  /** The peak during the searches. */
  readonly searchBytes: number;
}

async function measure(context: SuiteContext): Promise<Findings> {
  const corpus = await openMainCorpus(context);
  const folder = join(context.workFolder, "scale");
  mkdirSync(folder);
  context.progress("making the sizes");
  const scaled = await openScaled(corpus, context.isQuick ? sizes.quick : sizes.full, context.progress);
  const outcomes: SizeOutcome[] = [];
  for (const size of scaled.sizes) outcomes.push(await measureSize(scaled, size, folder, context));
  rmSync(folder, { recursive: true });
  const exponents = growths.map(({ name, of, must, aim }) => {
    const points = outcomes.map((outcome) => ({ x: outcome.textBytes, y: of(outcome) }));
    return { name, must, aim, all: fitExponent(points), last: fitExponent(points.slice(-2)) };
  });
  return {
    notes: toNotes(corpus),
    samples: outcomes.flatMap(toSamples),
    tables: [
      table("By size: whole answers with all results, median (min..max)", outcomes, sizeColumns),
      rowTable(
        "Exponents in the size of the corpus",
        ["what", "exponent", "between the two largest"],
        exponents.map(({ name, all, last }) => [name, all.toFixed(2), last.toFixed(2)]),
      ),
    ],
    plots: toPlots(outcomes),
    targets: exponents.map(({ name, must, aim, all }) =>
      atMost(`${name}: exponent in the size`, "", all, limits(context.isQuick, must, aim), ""),
    ),
  };
}

/** Only one size at a time is on the disk. */
async function measureSize(
  scaled: Scaled,
  size: ScaledSize,
  folder: string,
  { rounds, progress }: SuiteContext,
): Promise<SizeOutcome> {
  const name = `size ${sizeText(size)}`;
  const [repository, dataFolder] = [join(folder, "repository.git"), join(folder, "data")];
  progress(`${name}: making the repository`);
  await makeSize(scaled, size, repository);
  progress(`${name}: index`);
  const trawl = await Trawl.start(dataFolder, ["--set", "search.maxTimeoutSeconds=300"]);
  const index = await measureIndex(trawl, size.branch, repository, dataFolder, progress);
  progress(`${name}: searches`);
  const memory = watchMemory(trawl.pid);
  const searches = scaleQueries.map(({ query }) => streamParams(query));
  const [rare = new URLSearchParams()] = searches;
  const { lines } = await trawl.results(rare);
  if (lines.count !== 1)
    throw new TrawlError("internal", `${scaledMarker} is found ${lines.count} times, and is there once`);
  const measures = searches.map((params) => () => trawl.curlMs(params));
  const timesMs = await alternateWarm(rounds, measures);
  const { peak } = memory();
  await trawl.stop();
  for (const path of [repository, dataFolder]) rmSync(path, { recursive: true });
  return { ...size, index, timesMs, searchBytes: peak.anonymousBytes };
}

function sizeText({ size }: ScaledSize): string {
  return size < 1 ? `1/${1 / size}` : String(size);
}

function toNotes(corpus: Corpus): string[] {
  return [
    `Of the corpus ${corpus.name}, ${corpus.checksum}: a fraction has the files whose names hash into it; a multiple has copies in which every file ends in a line that names its copy, so that no blob is shared. Each is one repository with one commit, with a daemon of its own.`,
    "The exponent is the slope of a straight line through the logarithms of size and median, by least squares: 0 for a time that does not depend on the size, 1 for one that is proportional to it. A fixed cost, such as that of HTTP, lowers it.",
    corpus.note,
  ];
}

function toSamples(outcome: SizeOutcome): Sample[] {
  const { index, searchBytes, timesMs } = outcome;
  const sample = (subject: string, unit: string, values: readonly number[]): Sample =>
    less(`size ${sizeText(outcome)}`, subject, unit, values);
  return [
    ...scaleQueries.map(({ name }, i) => sample(name, "ms", timesMs[i] ?? [])),
    sample("index build", "s", [index.seconds]),
    sample("index build, peak anonymous memory", "MB", [index.peak.anonymousBytes / 1e6]),
    sample("searches, peak anonymous memory", "MB", [searchBytes / 1e6]),
    sample("shards and catalog", "MB", [index.dataBytes / 1e6]),
  ];
}

const sizeColumns: readonly Column<SizeOutcome>[] = [
  ["size", sizeText],
  ["files", ({ fileCount }) => fileCount],
  ["MB", ({ textBytes }) => textBytes / 1e6],
  ...scaleQueries.map(({ name }, i): Column<SizeOutcome> => [`${name}, ms`, ({ timesMs }) => timesMs[i]]),
  ["index, s", ({ index }) => index.seconds],
  ["MB/s", ({ index, textBytes }) => textBytes / 1e6 / index.seconds],
  ["index peak, MB", ({ index }) => index.peak.anonymousBytes / 1e6],
  ["search peak, MB", ({ searchBytes }) => searchBytes / 1e6],
  ["shards, x the text", ({ index, textBytes }) => index.dataBytes / textBytes],
];

/** What grows with the size. */
interface Growth {
  readonly name: string;
  readonly must?: number | undefined;
  readonly aim?: number | undefined;
  readonly of: (outcome: SizeOutcome) => number;
}

const growths: readonly Growth[] = [
  ...scaleQueries.map(({ name, must, aim }, i): Growth => {
    return { name, must, aim, of: ({ timesMs }) => median(timesMs[i] ?? []) };
  }),
  { name: "index build", of: ({ index }) => index.seconds },
  { name: "index build, peak anonymous memory", of: ({ index }) => index.peak.anonymousBytes },
  { name: "searches, peak anonymous memory", of: ({ searchBytes }) => searchBytes },
];

function toPlots(outcomes: readonly SizeOutcome[]): Plot[] {
  const plot = (name: string, title: string, label: string, series: readonly Series[]): Plot => {
    return { name, title, x: axis("text, MB", "log"), y: axis(label, "log"), series };
  };
  const series = (name: string, findValues: (outcome: SizeOutcome) => readonly number[] | undefined): Series => {
    const points = outcomes.flatMap((outcome) => spreadPoint(outcome.textBytes / 1e6, findValues(outcome)));
    return line(name, points);
  };
  return [
    plot(
      "scale-searches",
      "Time of a whole answer with all results against the size of the corpus",
      "time, ms",
      scaleQueries.map(({ name }, i) => series(name, ({ timesMs }) => timesMs[i])),
    ),
    plot("scale-index", "From git to searchable against the size of the corpus", "time, s", [
      series("index build", ({ index }) => [index.seconds]),
    ]),
    plot("scale-memory", "Anonymous memory of the daemon against the size of the corpus", "peak memory, MB", [
      series("while it indexes", ({ index }) => [index.peak.anonymousBytes / 1e6]),
      series("while it searches", ({ searchBytes }) => [searchBytes / 1e6]),
    ]),
  ];
}
