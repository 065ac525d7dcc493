import type { Corpus } from "../corpus/corpus.js";
import { axis, less, line, ratio, sampleTable, spreadPoint } from "../report/build.js";
import { grouped, short } from "../report/numbers.js";
import type { Findings, Plot, Sample, Series, Target } from "../report/run-report.js";
import { atLeast, atMost, limits } from "../report/targets.js";
import { median } from "../system/measure.js";

type Times = readonly number[];

export interface RevisionsMeasured {
  readonly corpus: Corpus;
  /** A word that occurs everywhere, one in a few files, and the most frequent one of any corpus. */
  readonly words: { readonly common: string; readonly rare: string; readonly dense: string };
  /** The one revision, and the share of its blobs that no shard has. */
  readonly one: string;
  readonly unindexedShare: number;
  /** Between our results and those of `git grep`; empty when they are equal. */
  readonly differences: readonly string[];
  /** At the indexed branch the common and the dense word, and the common one at the one revision, once it is warm. */
  readonly indexed: Times;
  readonly dense: Times;
  readonly warm: Times;
  /**
   * First searches of just-started daemons: the common word at the one revision, the rare one at all, the common one
   * with nothing indexed; and `git grep` for the latter.
   */
  readonly cold: { readonly one: Times; readonly all: Times; readonly nothing: Times; readonly nothingGrep: Times };
  /** Numbers of revisions, and the times of each. */
  readonly counts: readonly number[];
  readonly rareTimes: readonly Times[];
  readonly commonTimes: readonly Times[];
  /** Size of the answers to the dense word at the indexed branch, and to the common word at all revisions. */
  readonly bytes: { readonly dense: number; readonly all: number };
}

export function reportRevisions(measured: RevisionsMeasured, isQuick: boolean): Findings {
  const samples = toSamples(measured);
  return {
    notes: toNotes(measured),
    samples,
    tables: [sampleTable(samples)],
    plots: [countPlot(measured)],
    targets: measured.differences.length > 0 ? [] : toTargets(measured, isQuick),
  };
}

function toNotes({ corpus, words, one, unindexedShare, differences, counts, bytes }: RevisionsMeasured): string[] {
  const all = grouped(counts.at(-1) ?? 0);
  const equal =
    "Results equal those of `git grep`: at the one revision, also where nothing is indexed, and of the search of all revisions those at three of them.";
  return [
    `The corpus ${corpus.name} has ${all} commits; the last one is indexed. Of the blobs of ${one}, the one revision, ${short(100 * unindexedShare)} % are not. \`${words.common}\` is a common word, \`${words.rare}\` a rare one.`,
    differences.length === 0 ? equal : "",
    ...differences.map((each) => `RESULTS DIFFER from those of \`git grep\`, so no ratio is given: ${each}.`),
    "First: the first search of revisions by a daemon that was just started and has searched the indexed branch three times. Other times are of repeated searches.",
    `The answer to \`${words.common}\` at ${all} revisions has ${short(bytes.all / 1e6)} MB, as each result is sent for each revision; that to \`${words.dense}\` at the indexed branch has ${short(bytes.dense / 1e6)} MB.`,
    corpus.note,
  ];
}

function toSamples(measured: RevisionsMeasured): Sample[] {
  const { words, indexed, dense, warm, cold, counts, rareTimes, commonTimes } = measured;
  const ms = (task: string, subject: string, values: Times | undefined): Sample =>
    less(task, subject, "ms", values ?? []);
  return [
    ms(words.common, "the indexed branch", indexed),
    ms(words.common, "one revision", warm),
    ms(words.common, "one revision, first", cold.one),
    ms(words.common, "one revision with nothing indexed, first", cold.nothing),
    ms(words.common, "one revision, git grep", cold.nothingGrep),
    ms(words.rare, `${grouped(counts.at(-1) ?? 0)} revisions, first`, cold.all),
    ms(words.dense, "the indexed branch", dense),
    ...counts.map((count, i) => ms(words.rare, `${grouped(count)} revisions`, rareTimes[i])),
    ...counts.map((count, i) => ms(words.common, `${grouped(count)} revisions`, commonTimes[i])),
  ];
}

/** The limits are those of the Linux source. */
function toTargets(measured: RevisionsMeasured, isQuick: boolean): Target[] {
  const { words, indexed, dense, warm, cold, counts, bytes } = measured;
  const at = (times: readonly Times[], index: number): Times => times.at(index) ?? [];
  const [rareOne, rareAll] = [at(measured.rareTimes, 0), at(measured.rareTimes, -1)];
  const [commonOne, commonAll] = [at(measured.commonTimes, 0), at(measured.commonTimes, -1)];
  const ms = (times: Times): string => `${short(median(times))} ms`;
  const all = grouped(counts.at(-1) ?? 0);
  const output = bytes.all / 1e3 / median(commonAll);
  return [
    atMost(
      `${words.common} at a revision of which 95 % is indexed, beside the indexed branch`,
      "x",
      ratio(warm, indexed),
      limits(isQuick, 3, 1.5),
      ms(warm),
    ),
    atMost(
      "the same, the first time",
      "x",
      ratio(cold.one, indexed),
      limits(isQuick, 3, undefined),
      `${ms(cold.one)}; git grep ${ms(cold.nothingGrep)}`,
    ),
    atMost(
      `${words.rare} at ${all} revisions, beside one`,
      "x",
      ratio(rareAll, rareOne),
      limits(isQuick, 3, 1.5),
      `${ms(rareAll)}; the first time ${ms(cold.all)}`,
    ),
    atLeast(
      `${words.common} at ${all} revisions: output, beside ${words.dense} at the indexed branch`,
      "x",
      output / (bytes.dense / 1e3 / median(dense)),
      limits(isQuick, 1, undefined),
      `${short(output)} MB/s; ${short(ratio(commonAll, commonOne))}x the time of one`,
    ),
    atLeast(
      `${words.common} at a revision with nothing indexed, beside git grep`,
      "x",
      ratio(cold.nothingGrep, cold.nothing),
      limits(isQuick, 1, undefined),
      `${ms(cold.nothing)}; git grep ${ms(cold.nothingGrep)}`,
    ),
  ];
}

function countPlot({ words, counts, rareTimes, commonTimes }: RevisionsMeasured): Plot {
  const series = (name: string, times: readonly Times[]): Series =>
    line(
      name,
      counts.flatMap((count, i) => spreadPoint(count, times[i])),
    );
  return {
    name: "revisions",
    title: "Time of a search against the number of revisions that are not indexed",
    x: axis("revisions", "log"),
    y: axis("time, ms", "log"),
    series: [
      series(words.rare, rareTimes),
      series(`${words.common}, whose answer grows with the revisions`, commonTimes),
    ],
  };
}
