import { quantile } from "../system/measure.js";
import { table } from "./views.js";
import { short } from "./numbers.js";
import type { RunReport, Sample, Table } from "./run-report.js";

export type Change = "better" | "worse" | "same within noise" | "too few values";

/** One subject at one task in two runs. */
interface ComparedSample {
  readonly sample: Sample;
  readonly before: readonly number[];
  /** Median after divided by median before, and the span that the middle halves of the values allow. */
  readonly ratio: number;
  readonly ratioLow: number;
  readonly ratioHigh: number;
  readonly change: Change;
}

export interface Comparison {
  /** The largest changes first, whatever their direction. */
  readonly rows: readonly ComparedSample[];
  /** Samples that only one of the runs has. */
  readonly onlyBefore: readonly string[];
  readonly onlyAfter: readonly string[];
}

/** Fewer values do not show the noise. */
const valuesMin = 3;
const ratioNoiseMax = 0.03;

export const noiseRule =
  "The ratio is that of the medians; the span behind it goes from the quotient of the lower quartile after and the upper before to the reverse. " +
  `Two samples differ when that span excludes 1 and the medians are more than ${100 * ratioNoiseMax} % apart; otherwise they are the same within noise. ` +
  `With fewer than ${valuesMin} values on a side there is no verdict.`;

/** Compares what both runs measured: equal task, subject and unit. */
export function compareRuns(before: RunReport, after: RunReport): Comparison {
  const [old, now] = [indexSamples(before), indexSamples(after)];
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
  return table("After against before", rows, [
    ["task", ({ sample }) => sample.task],
    ["subject", ({ sample }) => sample.subject],
    ["unit", ({ sample }) => sample.unit],
    ["before", ({ before }) => before],
    ["after", ({ sample }) => sample.values],
    ["after/before", ({ ratio }) => `${short(ratio)}x`],
    ["span", ({ ratioLow, ratioHigh }) => `${short(ratioLow)}..${short(ratioHigh)}`],
    ["", ({ change }) => change],
  ]);
}

/** Several runs of the same revision as one, with the values of all. */
export function mergeRuns(first: RunReport, more: readonly RunReport[]): RunReport {
  const others = more.map(indexSamples);
  const merge = (sample: Sample): Sample => ({
    ...sample,
    values: [...sample.values, ...others.flatMap((samples) => samples.get(sampleName(sample))?.values ?? [])],
  });
  return { ...first, suites: first.suites.map((suite) => ({ ...suite, samples: suite.samples.map(merge) })) };
}

function indexSamples({ suites }: RunReport): Map<string, Sample> {
  return new Map(suites.flatMap(({ samples }) => samples).map((sample) => [sampleName(sample), sample]));
}

function sampleName({ task, subject, unit }: Sample): string {
  return `${task}, ${subject} (${unit})`;
}

function compareSamples(before: Sample, after: Sample): ComparedSample {
  const quotient = (afterShare: number, beforeShare: number): number =>
    quantile(after.values, afterShare) / quantile(before.values, beforeShare);
  const [ratio, ratioLow, ratioHigh] = [quotient(0.5, 0.5), quotient(0.25, 0.75), quotient(0.75, 0.25)];
  const isJudged = Math.min(before.values.length, after.values.length) >= valuesMin;
  const differs = (ratioLow > 1 || ratioHigh < 1) && Math.abs(ratio - 1) > ratioNoiseMax;
  const direction = ratio < 1 === (after.better === "less") ? "better" : "worse";
  const change = !isJudged ? "too few values" : differs ? direction : "same within noise";
  return { sample: after, before: before.values, ratio, ratioLow, ratioHigh, change };
}

function weight({ ratio, change }: ComparedSample): number {
  return Math.abs(Math.log(ratio)) + (change === "better" || change === "worse" ? 1000 : 0);
}
