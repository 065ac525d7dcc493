import { monotonicMs } from "../../src/base/deadline.js";
import { more, ratio, table, type Column } from "../report/build.js";
import { short } from "../report/numbers.js";
import type { Sample, Table } from "../report/run-report.js";

/** One piece of work, done in several ways. */
export interface MicroBench {
  readonly task: string;
  /** Of `Trial.amount`, a second. */
  readonly unit: string;
  /** Ours first; the others are compared with it. */
  readonly subjects: readonly Subject[];
}

/** One way to do it. */
export interface Subject {
  readonly name: string;
  /**
   * What it finds or writes, compared with the others' before any time counts. After the first one, a subject without a
   * result is a limit: the most that the machine can do.
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
  /** Ends what the benches started, after they were measured. */
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

/** Times work that returns its amount. */
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

/** A subject's work that always has the same amount; `find` returns what is compared. */
export function working(amount: number, find: () => number | string): Omit<Subject, "name"> {
  const run = (): Trial =>
    timed(() => {
      find();
      return amount;
    });
  return { result: () => String(find()), run };
}

/**
 * Compares what the subjects find, then measures them in turn, round after round, so that other load on the machine
 * affects each alike. The first round does not count. In a round each subject works once, and until `roundMs` are over.
 */
export async function measureBench(bench: MicroBench, rounds: number, roundMs: number): Promise<BenchResult> {
  const disagreement = await compareResults(bench.subjects);
  const rates = bench.subjects.map((): number[] => []);
  for (let round = 0; round <= rounds; round++) {
    for (const [i, subject] of bench.subjects.entries()) {
      const rate = await measureRate(subject, roundMs);
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

async function measureRate(subject: Subject, roundMs: number): Promise<number> {
  let amount = 0;
  let seconds = 0;
  do {
    const trial = await subject.run();
    amount += trial.amount;
    seconds += trial.seconds;
  } while (seconds * 1000 < roundMs);
  return amount / seconds;
}

export function toSamples(group: string, results: readonly BenchResult[]): Sample[] {
  return results.flatMap(({ bench: { task, unit, subjects }, rates }) =>
    subjects.map(({ name }, i) => more(`${group}: ${task}`, name, `${unit}/s`, rates[i] ?? [])),
  );
}

/**
 * A row for each bench, with a dash where a subject is not part of it. Ratios are those of medians. The last column is
 * the share that the first subject reaches of the limit: a row has at most one limit.
 */
export function benchTable(title: string, results: readonly BenchResult[]): Table {
  const subjects = results.flatMap(({ bench }) => bench.subjects);
  const names = [...new Set(subjects.map(({ name }) => name))];
  const hasResult = (name: string): boolean => subjects.some((each) => each.name === name && each.result !== undefined);
  const limit: Column<BenchResult> = ["of the limit", (row) => shareText(row)];
  return table(title, results, [
    ["", ({ bench }) => bench.task],
    ["unit", ({ bench }) => `${bench.unit}/s`],
    ...names.map((name): Column<BenchResult> => [name, (row) => (hasSubject(row, name) ? findRates(row, name) : "–")]),
    ...names
      .slice(1)
      .filter(hasResult)
      .map((name): Column<BenchResult> => [`${names[0] ?? ""} ÷ ${name}`, (row) => ratioText(row, name)]),
    ...(results.some(({ bench }) => limitName(bench) !== undefined) ? [limit] : []),
  ]);
}

function hasSubject({ bench }: BenchResult, name: string): boolean {
  return bench.subjects.some((subject) => subject.name === name);
}

/** The name of the bench's limit. */
export function limitName({ subjects }: MicroBench): string | undefined {
  return subjects.slice(1).find(({ result }) => result === undefined)?.name;
}

/** The rates of a subject; [] when it is not part of the bench. */
export function findRates({ bench, rates }: BenchResult, name: string): readonly number[] {
  return rates[bench.subjects.findIndex((subject) => subject.name === name)] ?? [];
}

/** Our rate as a multiple of that subject's; undefined when it is not part of the bench or the results differ. */
export function ratioTo(row: BenchResult, name: string): number | undefined {
  if (!hasSubject(row, name) || row.disagreement !== undefined) return undefined;
  return ratio(findRates(row, row.bench.subjects[0]?.name ?? ""), findRates(row, name));
}

function shareText(row: BenchResult): string {
  const share = ratioTo(row, limitName(row.bench) ?? "");
  return share === undefined ? "–" : `${short(100 * share)} %`;
}

function ratioText(row: BenchResult, name: string): string {
  if (row.disagreement !== undefined) return "differs";
  const value = ratioTo(row, name);
  return value === undefined ? "–" : `${short(value)}x`;
}
