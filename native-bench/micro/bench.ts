import { monotonicMs } from "../../src/base/deadline.js";
import { short, spreadText } from "../report/numbers.js";
import type { Sample, Table } from "../report/record.js";
import { spreadOf, type Spread } from "../system/measure.js";

/** One piece of work, done in several ways. */
export interface MicroBench {
  readonly task: string;
  /** Of `Trial.amount`, a second. */
  readonly unit: string;
  /** Ours first; the others are what it is compared with. */
  readonly subjects: readonly Subject[];
}

/** One way to do it. */
export interface Subject {
  readonly name: string;
  /**
   * What it finds or writes, to be compared with the others' before any time counts. Behind the first one a subject
   * without a result is a limit: what the machine does at most when there is nothing to find.
   */
  readonly result: (() => Promise<string> | string) | undefined;
  /** Does the work once. */
  readonly run: () => Promise<Trial> | Trial;
}

export interface Trial {
  readonly amount: number;
  readonly seconds: number;
}

export interface BenchGroup {
  readonly title: string;
  readonly benches: readonly MicroBench[];
  /** Ends what the benches started; they are measured before. */
  readonly close: () => Promise<void>;
}

/** What was measured of one bench. */
export interface BenchResult {
  readonly bench: MicroBench;
  /** By subject, in its order: a rate for each round. */
  readonly rates: readonly (readonly number[])[];
  /** What the subjects found, where they do not agree; then there is no ratio. */
  readonly disagreement: string | undefined;
}

/** Times work that says how much it did. */
export function timed(work: () => number): Trial {
  const fromMs = monotonicMs();
  const amount = work();
  return { amount, seconds: (monotonicMs() - fromMs) / 1000 };
}

export async function timedAsync(work: () => Promise<number>): Promise<Trial> {
  const fromMs = monotonicMs();
  const amount = await work();
  return { amount, seconds: (monotonicMs() - fromMs) / 1000 };
}

/**
 * Compares what the subjects find, then measures them in turn, round after round, so that what else loads the machine
 * meets each alike. The first round does not count. In a round each subject works for `roundMs` or once, whichever is
 * longer.
 */
export async function measureBench(bench: MicroBench, rounds: number, roundMs: number): Promise<BenchResult> {
  const disagreement = await compareResults(bench.subjects);
  const rates = bench.subjects.map((): number[] => []);
  for (let round = 0; round <= rounds; round++) {
    for (const [i, subject] of bench.subjects.entries()) {
      const rate = await rateOf(subject, roundMs);
      if (round > 0) rates[i]?.push(rate);
    }
  }
  return { bench, rates, disagreement };
}

async function compareResults(subjects: readonly Subject[]): Promise<string | undefined> {
  const results: { name: string; result: string }[] = [];
  for (const { name, result } of subjects) if (result !== undefined) results.push({ name, result: await result() });
  if (results.every(({ result }) => result === results[0]?.result)) return undefined;
  return results.map(({ name, result }) => `${name}: ${result}`).join(", ");
}

async function rateOf(subject: Subject, roundMs: number): Promise<number> {
  let amount = 0;
  let seconds = 0;
  do {
    const trial = await subject.run();
    amount += trial.amount;
    seconds += trial.seconds;
  } while (seconds * 1000 < roundMs);
  return amount / seconds;
}

export function samplesOf(group: string, results: readonly BenchResult[]): Sample[] {
  return results.flatMap(({ bench, rates }) =>
    bench.subjects.map(({ name }, i) => ({
      task: `${group}: ${bench.task}`,
      subject: name,
      unit: `${bench.unit}/s`,
      better: "more" as const,
      values: rates[i] ?? [],
    })),
  );
}

/**
 * A row for each bench; a subject that has no part in it is a dash. Ratios are those of medians. What the first subject
 * reaches of the limit has a column of its own, for there is one limit at most in a row.
 */
export function tableOf(title: string, results: readonly BenchResult[]): Table {
  const names = [...new Set(results.flatMap(({ bench }) => bench.subjects.map(({ name }) => name)))];
  const peers = names
    .slice(1)
    .filter((name) =>
      results.some(({ bench }) =>
        bench.subjects.some((subject) => subject.name === name && subject.result !== undefined),
      ),
    );
  const hasLimits = results.some(({ bench }) => limitOf(bench) !== undefined);
  const rows = results.map((result) => [
    result.bench.task,
    `${result.bench.unit}/s`,
    ...names.map((name) => rangeText(spreadAt(result, name))),
    ...peers.map((name) => ratioText(ratioTo(result, name), result.disagreement)),
    ...(hasLimits ? [shareText(result)] : []),
  ]);
  return {
    title,
    head: [
      "",
      "unit",
      ...names,
      ...peers.map((name) => `${names[0] ?? ""} ÷ ${name}`),
      ...(hasLimits ? ["of the limit"] : []),
    ],
    rows,
  };
}

/** The name of the bench's limit. */
export function limitOf({ subjects }: MicroBench): string | undefined {
  return subjects.slice(1).find(({ result }) => result === undefined)?.name;
}

export function spreadAt({ bench, rates }: BenchResult, name: string): Spread | undefined {
  const values = rates[bench.subjects.findIndex((subject) => subject.name === name)];
  return values === undefined ? undefined : spreadOf(values);
}

/** How many times the rate of that subject ours is; undefined when it has no part in it or found something else. */
export function ratioTo(result: BenchResult, name: string): number | undefined {
  const ours = spreadAt(result, result.bench.subjects[0]?.name ?? "");
  const other = spreadAt(result, name);
  if (ours === undefined || other === undefined || result.disagreement !== undefined) return undefined;
  return ours.median / other.median;
}

function rangeText(spread: Spread | undefined): string {
  return spread === undefined ? "–" : spreadText(spread);
}

function shareText(result: BenchResult): string {
  const limit = limitOf(result.bench);
  const ratio = limit === undefined ? undefined : ratioTo(result, limit);
  return ratio === undefined ? "–" : `${short(100 * ratio)} %`;
}

function ratioText(ratio: number | undefined, disagreement: string | undefined): string {
  if (disagreement !== undefined) return "differs";
  return ratio === undefined ? "–" : `${short(ratio)}x`;
}
