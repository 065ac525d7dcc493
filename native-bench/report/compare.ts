import { quantileOf, spreadOf, type Spread } from "../system/measure.js";
import { short, spreadText } from "./numbers.js";
import type { RunReport, Sample, Table } from "./run-report.js";

export type Change = "better" | "worse" | "same within noise" | "too few values";

/** One subject at one task in two runs. */
export interface ComparedSample {
  readonly sample: Sample;
  readonly before: Spread;
  readonly after: Spread;
  /** Median after divided by median before, and the span that the middle halves of the values allow for it. */
  readonly ratio: number;
  readonly ratioLow: number;
  readonly ratioHigh: number;
  readonly change: Change;
}

export interface Comparison {
  /** The largest changes first, whatever their direction. */
  readonly rows: readonly ComparedSample[];
  /** Tasks and subjects that only one of the runs has. */
  readonly onlyBefore: readonly string[];
  readonly onlyAfter: readonly string[];
}

/** Fewer values say nothing about noise. */
const valuesMin = 3;
const ratioNoiseMax = 0.03;

export const noiseRule =
  `The ratio is that of the medians; the span behind it goes from the quotient of the lower quartile after and the upper
before to the reverse. Two samples differ when that span leaves out 1 and the medians are more than ${100 * ratioNoiseMax} % apart; otherwise they are
the same within noise. With fewer than ${valuesMin} values on a side nothing is said.`.replaceAll("\n", " ");

/** Compares what both runs measured: equal task, subject and unit. */
export function compareRuns(before: RunReport, after: RunReport): Comparison {
  const [old, now] = [samplesOf(before), samplesOf(after)];
  const rows: ComparedSample[] = [];
  for (const [name, sample] of now) {
    const other = old.get(name);
    if (other !== undefined) rows.push(compareSamples(other, sample));
  }
  rows.sort((a, b) => weight(b) - weight(a));
  const without = (these: ReadonlyMap<string, Sample>, those: ReadonlyMap<string, Sample>): string[] =>
    [...these.keys()].filter((name) => !those.has(name));
  return { rows, onlyBefore: without(old, now), onlyAfter: without(now, old) };
}

export function comparisonTable({ rows }: Comparison): Table {
  return {
    title: "After against before",
    head: ["task", "subject", "unit", "before", "after", "after/before", "span", ""],
    rows: rows.map(({ sample, before, after, ratio, ratioLow, ratioHigh, change }) => [
      sample.task,
      sample.subject,
      sample.unit,
      spreadText(before),
      spreadText(after),
      `${short(ratio)}x`,
      `${short(ratioLow)}..${short(ratioHigh)}`,
      change,
    ]),
  };
}

/** Several runs of the same thing as one: their samples one after the other. */
export function mergeRuns(first: RunReport, more: readonly RunReport[]): RunReport {
  const others = more.map(samplesOf);
  const merge = (sample: Sample): Sample => ({
    ...sample,
    values: [...sample.values, ...others.flatMap((samples) => samples.get(nameOf(sample))?.values ?? [])],
  });
  return { ...first, suites: first.suites.map((suite) => ({ ...suite, samples: suite.samples.map(merge) })) };
}

function samplesOf({ suites }: RunReport): Map<string, Sample> {
  return new Map(suites.flatMap(({ samples }) => samples).map((sample) => [nameOf(sample), sample]));
}

function nameOf({ task, subject, unit }: Sample): string {
  return `${task}, ${subject} (${unit})`;
}

function compareSamples(before: Sample, after: Sample): ComparedSample {
  const ratio = quantileOf(after.values, 0.5) / quantileOf(before.values, 0.5);
  const ratioLow = quantileOf(after.values, 0.25) / quantileOf(before.values, 0.75);
  const ratioHigh = quantileOf(after.values, 0.75) / quantileOf(before.values, 0.25);
  const isJudged = Math.min(before.values.length, after.values.length) >= valuesMin;
  const differs = (ratioLow > 1 || ratioHigh < 1) && Math.abs(ratio - 1) > ratioNoiseMax;
  const change = !isJudged
    ? "too few values"
    : !differs
      ? "same within noise"
      : ratio < 1 === (after.better === "less")
        ? "better"
        : "worse";
  return {
    sample: after,
    before: spreadOf(before.values),
    after: spreadOf(after.values),
    ratio,
    ratioLow,
    ratioHigh,
    change,
  };
}

function weight({ ratio, change }: ComparedSample): number {
  return Math.abs(Math.log(ratio)) + (change === "better" || change === "worse" ? 1000 : 0);
}
