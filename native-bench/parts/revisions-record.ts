import type { Corpus } from "../corpus/corpus.js";
import { atLeast, atMost } from "../report/claims.js";
import { grouped, short, spreadText } from "../report/numbers.js";
import type { Claim, PartRecord, Plot, Sample, Series } from "../report/record.js";
import { spreadOf } from "../system/measure.js";

type Times = readonly number[];

export interface RevisionsMeasured {
  readonly corpus: Corpus;
  readonly common: string;
  readonly rare: string;
  /** The one revision, and which part of its blobs no shard has. */
  readonly one: string;
  readonly unindexedShare: number;
  /** Between our results and those of `git grep`; empty when they are equal. */
  readonly differences: readonly string[];
  /** The common word at the indexed branch, and at the one revision, once it is known. */
  readonly indexed: Times;
  readonly warm: Times;
  /**
   * First searches of daemons that were just started: the common word at the one revision, the rare one at all, the
   * common one with nothing indexed.
   */
  readonly cold: { readonly one: Times; readonly all: Times; readonly nothing: Times; readonly nothingGrep: Times };
  /** Numbers of revisions, and the times of each. */
  readonly counts: readonly number[];
  readonly rareTimes: readonly Times[];
  readonly commonTimes: readonly Times[];
  readonly dense: { readonly word: string; readonly timesMs: Times; readonly bytes: number };
  /** Of the answer to the common word at all revisions. */
  readonly allBytes: number;
}

export function describeRevisions(
  measured: RevisionsMeasured,
  isQuick: boolean,
): Pick<PartRecord, "notes" | "samples" | "tables" | "plots" | "claims"> {
  const samples = samplesOf(measured);
  return {
    notes: notesOf(measured),
    samples,
    tables: [
      {
        title: "Measured",
        head: ["task", "subject", "median (min..max), ms"],
        rows: samples.map(({ task, subject, values }) => [task, subject, spreadText(spreadOf(values))]),
      },
    ],
    plots: [countPlot(measured)],
    claims: measured.differences.length > 0 ? [] : claimsOf(measured, isQuick),
  };
}

function notesOf({
  corpus,
  common,
  rare,
  one,
  unindexedShare,
  differences,
  counts,
  dense,
  allBytes,
}: RevisionsMeasured): string[] {
  const all = counts.at(-1) ?? 0;
  return [
    `The corpus ${corpus.name} has ${grouped(all)} commits; the last one is indexed. Of the blobs of ${one}, the one revision, ${short(100 * unindexedShare)} % are not. \`${common}\` is a common word, \`${rare}\` a rare one.`,
    ...(differences.length === 0
      ? [
          `Results equal those of \`git grep\`: at the one revision, also where nothing is indexed, and of the search of all revisions those at three of them.`,
        ]
      : differences.map(
          (difference) => `RESULTS DIFFER from those of \`git grep\`, so no ratio is given: ${difference}.`,
        )),
    "First: the first search of revisions by a daemon that was just started and has searched the indexed branch three times. Other times are of searches that were made before.",
    `The answer to \`${common}\` at ${grouped(all)} revisions has ${short(allBytes / 1e6)} MB, as each result is told for each revision; that to \`${dense.word}\` at the indexed branch has ${short(dense.bytes / 1e6)} MB.`,
    ...(corpus.note === "" ? [] : [corpus.note]),
  ];
}

function samplesOf({
  common,
  rare,
  indexed,
  warm,
  cold,
  counts,
  rareTimes,
  commonTimes,
  dense,
}: RevisionsMeasured): Sample[] {
  const less = (task: string, subject: string, values: Times): Sample => ({
    task,
    subject,
    unit: "ms",
    better: "less",
    values,
  });
  const all = grouped(counts.at(-1) ?? 0);
  return [
    less(common, "the indexed branch", indexed),
    less(common, "one revision", warm),
    less(common, "one revision, first", cold.one),
    less(common, "one revision with nothing indexed, first", cold.nothing),
    less(common, "one revision, git grep", cold.nothingGrep),
    less(rare, `${all} revisions, first`, cold.all),
    less(dense.word, "the indexed branch", dense.timesMs),
    ...counts.map((count, i) => less(rare, `${grouped(count)} revisions`, rareTimes[i] ?? [])),
    ...counts.map((count, i) => less(common, `${grouped(count)} revisions`, commonTimes[i] ?? [])),
  ];
}

/** The limits are those of the Linux source. */
function claimsOf(
  { common, rare, indexed, warm, cold, counts, rareTimes, commonTimes, dense, allBytes }: RevisionsMeasured,
  isQuick: boolean,
): Claim[] {
  const limits = (must: number | undefined, aim: number | undefined) =>
    isQuick ? { must: undefined, aim: undefined } : { must, aim };
  const median = (times: Times | undefined): number =>
    times === undefined || times.length === 0 ? NaN : spreadOf(times).median;
  const all = grouped(counts.at(-1) ?? 0);
  const perSecond = (bytes: number, times: Times | undefined): number => bytes / 1e3 / median(times);
  const grep = median(cold.nothingGrep);
  return [
    atMost(
      `${common} at a revision of which 95 % is indexed, beside the indexed branch`,
      "x",
      median(warm) / median(indexed),
      limits(3, 1.5),
      `${short(median(warm))} ms`,
    ),
    atMost(
      "the same, the first time",
      "x",
      median(cold.one) / median(indexed),
      limits(3, undefined),
      `${short(median(cold.one))} ms; git grep ${short(grep)} ms`,
    ),
    atMost(
      `${rare} at ${all} revisions, beside one`,
      "x",
      median(rareTimes.at(-1)) / median(rareTimes[0]),
      limits(3, 1.5),
      `${short(median(rareTimes.at(-1)))} ms; the first time ${short(median(cold.all))} ms`,
    ),
    atLeast(
      `${common} at ${all} revisions: output, beside ${dense.word} at the indexed branch`,
      "x",
      perSecond(allBytes, commonTimes.at(-1)) / perSecond(dense.bytes, dense.timesMs),
      limits(1, undefined),
      `${short(perSecond(allBytes, commonTimes.at(-1)))} MB/s; ${short(median(commonTimes.at(-1)) / median(commonTimes[0]))}x the time of one`,
    ),
    atLeast(
      `${common} at a revision with nothing indexed, beside git grep`,
      "x",
      grep / median(cold.nothing),
      limits(1, undefined),
      `${short(median(cold.nothing))} ms; git grep ${short(grep)} ms`,
    ),
  ];
}

function countPlot({ common, rare, counts, rareTimes, commonTimes }: RevisionsMeasured): Plot {
  const series = (name: string, times: readonly Times[]): Series => ({
    name,
    kind: "line",
    points: counts.map((count, i) => {
      const { min, median, max } = spreadOf(times[i] ?? []);
      return { x: count, y: median, low: min, high: max };
    }),
  });
  return {
    name: "revisions",
    title: "Time of a search against the number of revisions that are not indexed",
    x: { label: "revisions", scale: "log", categories: [] },
    y: { label: "time, ms", scale: "log", categories: [] },
    series: [series(rare, rareTimes), series(`${common}, whose answer grows with the revisions`, commonTimes)],
  };
}
