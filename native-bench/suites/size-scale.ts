import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { TrawlError } from "../../src/base/errors.js";
import { openMainCorpus } from "../corpus/corpus.js";
import { makeSize, openScaled, scaledMarker, type Scaled, type ScaledSize } from "../corpus/scaled.js";
import { literal, regexp, streamParams, type BenchQuery } from "../peers/queries.js";
import type { Limits, Results } from "../report/results.js";
import type { Sample } from "../report/run-report.js";
import { curvePlot, table } from "../report/views.js";
import { alternateWarm, median, watchMemory } from "../system/measure.js";
import { measureIndex } from "./indexing.js";
import { longSearches, startDaemon, type Suite, type SuiteContext } from "./suite.js";

/** How time and memory grow with the corpus. */
export const sizeScaleSuite: Suite = {
  name: "size-scale",
  title: "Time and memory against the size of the corpus",
  estimateSeconds: { quick: 30, full: 230 },
  measure,
};

/** As multiples of the corpus. */
const sizes = { full: [1 / 8, 1 / 2, 1, 2], quick: [1 / 4, 1 / 2, 1] };

/** The rare one is found once at every size. */
const searches: readonly { readonly name: string; readonly query: BenchQuery }[] = [
  { name: "rare literal", query: literal(scaledMarker) },
  { name: "common literal, TODO", query: literal("TODO") },
  { name: "dense literal, return", query: literal("return") },
  { name: "regexp without a literal", query: regexp("[a-z]+[0-9]+_[a-z]+\\(") },
];

const searchNames = searches.map(({ name }) => name);
const indexBuild = "index build";
const indexPeak = "index build, peak anonymous memory";
const searchPeak = "searches, peak anonymous memory";

/** What grows with the size, and the limits of its exponent. */
const growths: readonly (readonly [subject: string, limits: Limits])[] = [
  ["rare literal", { must: 0.3, aim: 0 }],
  ["common literal, TODO", {}],
  ["dense literal, return", { must: 1.05, aim: 1 }],
  ["regexp without a literal", {}],
  [indexBuild, {}],
  [indexPeak, {}],
  [searchPeak, {}],
];

const plots = [
  ["scale-searches", "Time of a whole answer with all results against the size of the corpus", "time, ms", searchNames],
  ["scale-index", "From git to searchable against the size of the corpus", "time, s", [indexBuild]],
  [
    "scale-memory",
    "Anonymous memory of the daemon against the size of the corpus",
    "peak memory, MB",
    [indexPeak, searchPeak],
  ],
] as const;

async function measure(context: SuiteContext, results: Results): Promise<void> {
  const corpus = await openMainCorpus(context);
  results.note(
    `Of the corpus ${corpus.name}, ${corpus.checksum}: a fraction has the files whose names hash into it; a multiple has copies in which every file ends in a line that names its copy, so that no blob is shared. Each is one repository with one commit, with a daemon of its own.`,
    "The exponent is the slope of a straight line through the logarithms of size and median, by least squares: 0 for a time that does not depend on the size, 1 for one that is proportional to it. A fixed cost, such as that of HTTP, lowers it.",
    corpus.note,
  );
  context.progress("making the sizes");
  const scaled = await openScaled(corpus, context.isQuick ? sizes.quick : sizes.full, context.progress);
  results.grid("By size: whole answers with all results, median (min..max)");
  for (const size of scaled.sizes) await measureSize(scaled, size, context, results);
  const of = (subject: string): Sample[] => results.samples.filter((sample) => sample.subject === subject);
  const exponents = growths.map(([subject, limits]) => {
    const points = of(subject).map(({ at = NaN, values }) => ({ x: at, y: median(values) }));
    return { subject, limits, all: fitExponent(points), last: fitExponent(points.slice(-2)) };
  });
  results.table(
    table("Exponents in the size of the corpus", exponents, [
      ["what", ({ subject }) => subject],
      ["exponent", ({ all }) => all.toFixed(2)],
      ["between the two largest", ({ last }) => last.toFixed(2)],
    ]),
  );
  for (const { subject, all, limits } of exponents) results.atMost(`${subject}: exponent in the size`, "", all, limits);
  for (const [name, title, y, subjects] of plots)
    results.plot(curvePlot({ name, title, x: "text, MB", y }, subjects.flatMap(of)));
}

/** Only one size at a time is on the disk. */
async function measureSize(scaled: Scaled, size: ScaledSize, context: SuiteContext, results: Results): Promise<void> {
  const { rounds, progress } = context;
  const task = `size ${size.size < 1 ? `1/${1 / size.size}` : String(size.size)}`;
  const folder = join(context.workFolder, size.branch);
  mkdirSync(folder);
  const repository = join(folder, "repository.git");
  progress(`${task}: making the repository`);
  await makeSize(scaled, size, repository);
  progress(`${task}: index`);
  const trawl = await startDaemon(context, join(size.branch, "data"), ...longSearches);
  const index = await measureIndex(trawl, size.branch, repository, progress);
  progress(`${task}: searches`);
  const memory = watchMemory(trawl.pid);
  const [rare, ...others] = searches.map(({ query }) => streamParams(query));
  const { lines } = await trawl.results(rare ?? new URLSearchParams());
  if (lines.count !== 1)
    throw new TrawlError("internal", `${scaledMarker} is found ${lines.count} times, and is there once`);
  const measures = [rare ?? new URLSearchParams(), ...others].map((params) => () => trawl.curlMs(params));
  const times = await alternateWarm(rounds, measures);
  const { peak } = memory();
  await trawl.stop();
  rmSync(folder, { recursive: true, maxRetries: 5 });
  const megabytes = size.textBytes / 1e6;
  const record = (subject: string, unit: string, values: number | readonly number[]): void =>
    results.less(task, subject, unit, values, megabytes);
  for (const [i, name] of searchNames.entries()) record(name, "ms", times[i] ?? []);
  record(indexBuild, "s", index.seconds);
  record(indexPeak, "MB", index.peak.anonymousBytes / 1e6);
  record(searchPeak, "MB", peak.anonymousBytes / 1e6);
  record("shards and catalog", "MB", index.dataBytes / 1e6);
  record("text", "MB", megabytes);
  record("files", "files", size.fileCount);
}

interface Point {
  readonly x: number;
  readonly y: number;
}

/**
 * The exponent e of the curve `y = c * x^e` that is nearest to the points: the slope by least squares between
 * logarithms.
 */
export function fitExponent(points: readonly Point[]): number {
  const logs = points.map(({ x, y }) => ({ x: Math.log(x), y: Math.log(y) }));
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [middleX, middleY] = [mean(logs.map(({ x }) => x)), mean(logs.map(({ y }) => y))];
  const covariance = logs.reduce((sum, { x, y }) => sum + (x - middleX) * (y - middleY), 0);
  const variance = logs.reduce((sum, { x }) => sum + (x - middleX) ** 2, 0);
  return covariance / variance;
}
