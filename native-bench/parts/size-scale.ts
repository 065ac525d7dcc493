import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { monotonicMs } from "../../src/base/deadline.js";
import { TrawlError } from "../../src/base/errors.js";
import { openMainCorpus, type Corpus } from "../corpus/corpus.js";
import { makeSize, openScaled, scaledMarker, type Scaled, type ScaledSize } from "../corpus/scaled.js";
import { streamParams, type BenchQuery } from "../peers/queries.js";
import { Trawl } from "../peers/trawl.js";
import { atMost } from "../report/claims.js";
import { grouped, short, spreadText } from "../report/numbers.js";
import type { Claim, PartRecord, Plot, PlotPoint, Sample, Table } from "../report/record.js";
import { alternate, spreadOf, watchMemory } from "../system/measure.js";
import { exponentOf, type Point } from "./exponent.js";
import { measureIndex, type IndexRun } from "./indexing.js";
import type { Part, PartContext } from "./part.js";

/** How time and memory grow with the corpus. */
export const sizeScalePart: Part = {
  name: "size-scale",
  title: "Time and memory against the size of the corpus",
  estimateSeconds: ({ isQuick }) => (isQuick ? 30 : 230),
  measure,
};

/** As multiples of the corpus. */
const sizes = [1 / 8, 1 / 2, 1, 2];
const quickSizes = [1 / 4, 1 / 2, 1];

interface ScaleQuery extends Pick<BenchQuery, "pattern" | "kind"> {
  readonly name: string;
  /** What its exponent is held to. */
  readonly must: number | undefined;
  readonly aim: number | undefined;
}

/** The rare one is found once at every size. */
const scaleQueries: readonly ScaleQuery[] = [
  { name: "rare literal", pattern: scaledMarker, kind: "literal", must: 0.3, aim: 0 },
  { name: "common literal, TODO", pattern: "TODO", kind: "literal", must: undefined, aim: undefined },
  { name: "dense literal, return", pattern: "return", kind: "literal", must: 1.05, aim: 1 },
  {
    name: "regexp without a literal",
    pattern: "[a-z]+[0-9]+_[a-z]+\\(",
    kind: "regexp",
    must: undefined,
    aim: undefined,
  },
];

interface SizeOutcome extends ScaledSize {
  readonly index: IndexRun;
  /** Of each query, in milliseconds, in the order of the table. */
  readonly timesMs: readonly (readonly number[])[];
  /** The most while it searched. */
  readonly searchBytes: number;
}

async function measure(context: PartContext): Promise<PartRecord> {
  const startedMs = monotonicMs();
  const corpus = await openMainCorpus(context);
  const folder = join(context.workFolder, "scale");
  mkdirSync(folder);
  context.progress("making the sizes");
  const scaled = await openScaled(corpus, context.isQuick ? quickSizes : sizes, context.progress);
  const outcomes: SizeOutcome[] = [];
  for (const size of scaled.sizes) outcomes.push(await measureSize(scaled, size, folder, context));
  rmSync(folder, { recursive: true });
  return {
    part: sizeScalePart.name,
    title: sizeScalePart.title,
    seconds: (monotonicMs() - startedMs) / 1000,
    notes: notesOf(corpus),
    samples: outcomes.flatMap(samplesOf),
    tables: [outcomeTable(outcomes), exponentTable(outcomes)],
    plots: [searchPlot(outcomes), indexPlot(outcomes), memoryPlot(outcomes)],
    claims: claimsOf(outcomes, context.isQuick),
  };
}

/** One size at a time is on the disk. */
async function measureSize(
  scaled: Scaled,
  size: ScaledSize,
  folder: string,
  { rounds, progress }: PartContext,
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
  const searches = scaleQueries.map((query) => streamParams(benchQuery(query)));
  const [rare = new URLSearchParams()] = searches;
  const { lines } = await trawl.results(rare);
  if (lines.count !== 1)
    throw new TrawlError("internal", `${scaledMarker} is found ${lines.count} times, and is there once`);
  const measures = searches.map((params) => () => trawl.curlMs(params));
  await alternate(1, measures);
  const timesMs = await alternate(rounds, measures);
  const { peak } = memory();
  await trawl.stop();
  for (const made of [repository, dataFolder]) rmSync(made, { recursive: true });
  return { ...size, index, timesMs, searchBytes: peak.anonymousBytes };
}

function benchQuery({ pattern, kind }: ScaleQuery): BenchQuery {
  return { pattern, kind, ignoreCase: false, spansLines: false, isHuge: false, must: {}, aim: {} };
}

function sizeText({ size }: ScaledSize): string {
  return size < 1 ? `1/${1 / size}` : String(size);
}

function notesOf(corpus: Corpus): string[] {
  return [
    `Of the corpus ${corpus.name}, ${corpus.checksum}: a fraction has the files whose names fall to it, a multiple has copies in which every file ends in a line of its copy, so that nothing is shared. Each is one repository with one commit, and a daemon of its own.`,
    "The exponent is the slope of a straight line through the logarithms of size and median, by least squares: 0 for a time that does not depend on the size, 1 for one that grows with it. A fixed cost, as that of HTTP, lowers it.",
    ...(corpus.note === "" ? [] : [corpus.note]),
  ];
}

function samplesOf(outcome: SizeOutcome): Sample[] {
  const at = `size ${sizeText(outcome)}`;
  const less = (subject: string, unit: string, values: readonly number[]): Sample => ({
    task: at,
    subject,
    unit,
    better: "less",
    values,
  });
  return [
    ...scaleQueries.map(({ name }, i) => less(name, "ms", outcome.timesMs[i] ?? [])),
    less("index build", "s", [outcome.index.seconds]),
    less("index build, peak anonymous memory", "MB", [outcome.index.peak.anonymousBytes / 1e6]),
    less("searches, peak anonymous memory", "MB", [outcome.searchBytes / 1e6]),
    less("shards and catalog", "MB", [outcome.index.dataBytes / 1e6]),
  ];
}

function outcomeTable(outcomes: readonly SizeOutcome[]): Table {
  return {
    title: "By size: whole answers with all results, median (min..max)",
    head: [
      "size",
      "files",
      "MB",
      ...scaleQueries.map(({ name }) => `${name}, ms`),
      "index, s",
      "MB/s",
      "index peak, MB",
      "search peak, MB",
      "shards, x the text",
    ],
    rows: outcomes.map((outcome) => [
      sizeText(outcome),
      grouped(outcome.fileCount),
      short(outcome.textBytes / 1e6),
      ...outcome.timesMs.map((times) => spreadText(spreadOf(times))),
      short(outcome.index.seconds),
      short(outcome.textBytes / 1e6 / outcome.index.seconds),
      short(outcome.index.peak.anonymousBytes / 1e6),
      short(outcome.searchBytes / 1e6),
      short(outcome.index.dataBytes / outcome.textBytes),
    ]),
  };
}

/** What grows, and how it is read from an outcome. */
const growths: readonly {
  readonly name: string;
  readonly of: (outcome: SizeOutcome) => number;
  readonly must: number | undefined;
  readonly aim: number | undefined;
}[] = [
  ...scaleQueries.map(({ name, must, aim }, i) => ({
    name,
    must,
    aim,
    of: ({ timesMs }: SizeOutcome) => spreadOf(timesMs[i] ?? []).median,
  })),
  { name: "index build", must: undefined, aim: undefined, of: ({ index }) => index.seconds },
  {
    name: "index build, peak anonymous memory",
    must: undefined,
    aim: undefined,
    of: ({ index }) => index.peak.anonymousBytes,
  },
  { name: "searches, peak anonymous memory", must: undefined, aim: undefined, of: ({ searchBytes }) => searchBytes },
];

function pointsOf(outcomes: readonly SizeOutcome[], of: (outcome: SizeOutcome) => number): Point[] {
  return outcomes.map((outcome) => ({ x: outcome.textBytes, y: of(outcome) }));
}

function exponentTable(outcomes: readonly SizeOutcome[]): Table {
  return {
    title: "Exponents in the size of the corpus",
    head: ["what", "exponent", "between the two largest"],
    rows: growths.map(({ name, of }) => {
      const points = pointsOf(outcomes, of);
      return [name, exponentOf(points).toFixed(2), exponentOf(points.slice(-2)).toFixed(2)];
    }),
  };
}

/** The limits are those of the full corpus. */
function claimsOf(outcomes: readonly SizeOutcome[], isQuick: boolean): Claim[] {
  return growths.map(({ name, of, must, aim }) =>
    atMost(
      `${name}: exponent in the size`,
      "",
      exponentOf(pointsOf(outcomes, of)),
      isQuick ? { must: undefined, aim: undefined } : { must, aim },
      "",
    ),
  );
}

const sizeAxis = { label: "text, MB", scale: "log", categories: [] } as const;

function searchPlot(outcomes: readonly SizeOutcome[]): Plot {
  return {
    name: "scale-searches",
    title: "Time of a whole answer with all results against the size of the corpus",
    x: sizeAxis,
    y: { label: "time, ms", scale: "log", categories: [] },
    series: scaleQueries.map(({ name }, i) => ({
      name,
      kind: "line",
      points: outcomes.map(({ textBytes, timesMs }): PlotPoint => {
        const { min, median, max } = spreadOf(timesMs[i] ?? []);
        return { x: textBytes / 1e6, y: median, low: min, high: max };
      }),
    })),
  };
}

function indexPlot(outcomes: readonly SizeOutcome[]): Plot {
  return {
    name: "scale-index",
    title: "From git to searchable against the size of the corpus",
    x: sizeAxis,
    y: { label: "time, s", scale: "log", categories: [] },
    series: [
      {
        name: "index build",
        kind: "line",
        points: outcomes.map(({ textBytes, index }) => ({ x: textBytes / 1e6, y: index.seconds })),
      },
    ],
  };
}

function memoryPlot(outcomes: readonly SizeOutcome[]): Plot {
  const series = (name: string, bytesOf: (outcome: SizeOutcome) => number) => ({
    name,
    kind: "line" as const,
    points: outcomes.map((outcome) => ({ x: outcome.textBytes / 1e6, y: bytesOf(outcome) / 1e6 })),
  });
  return {
    name: "scale-memory",
    title: "Anonymous memory of the daemon against the size of the corpus",
    x: sizeAxis,
    y: { label: "peak memory, MB", scale: "log", categories: [] },
    series: [
      series("while it indexes", ({ index }) => index.peak.anonymousBytes),
      series("while it searches", ({ searchBytes }) => searchBytes),
    ],
  };
}
