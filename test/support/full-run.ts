/**
 * Support for tests that `make faults` runs with larger counts, and for their measurements.
 *
 * `FAULTS` is the fraction of the full counts to run, such as 1 or 0.1; without it each test uses its usual, small
 * count. To run one test: `TAP_TIMEOUT=9999 FAULTS=1 node dist/test/NAME.test.js`. `MINUTES` limits the time of each
 * loop. `FAULTS_RECORD` is a file to which measurements are appended as lines of JSON.
 */
import assert from "node:assert/strict";
import { appendFileSync } from "node:fs";
import { basename } from "node:path";
import { monotonicMs } from "../../src/base/deadline.js";

const share = Number(process.env["FAULTS"] ?? 0);

/** Whether this is a long run. */
export const isFull = share > 0;

/** Options of a test of which `make test` has another case of the same kind. */
export const inLongRuns = { skip: isFull ? false : "only in a long run" } as const;

/** The number of repetitions: `usual` in `make test`, `full` in a complete `make faults`. */
export function scaled(usual: number, full: number): number {
  return Math.max(usual, Math.round(full * share));
}

/**
 * In `make test` the rows with these names, one of each kind, in a long run all rows. A row is named by its first element, or
 * is its name.
 */
export function chosen<T extends string | readonly [name: string, ...rest: unknown[]]>(
  rows: readonly T[],
  ...names: readonly string[]
): readonly T[] {
  const nameIn = (row: T): string => (typeof row === "string" ? row : row[0]);
  const missing = names.filter((name) => !rows.some((row) => nameIn(row) === name));
  assert(missing.length === 0, `no row is named ${missing.join(", ")}`);
  return isFull ? rows : rows.filter((row) => names.includes(nameIn(row)));
}

/** Yields numbers from 0: `count` of them, or fewer if `MINUTES` have passed. */
export function* rounds(count: number): Generator<number> {
  const endMs = monotonicMs() + 60_000 * Number(process.env["MINUTES"] || Infinity);
  for (let i = 0; i < count && monotonicMs() < endMs; i++) yield i;
}

/** One measurement for an item of the reliability plan. */
export interface Figure {
  readonly item: number;
  /** Name of the test file without its extension. */
  readonly test: string;
  /** What was done or measured, in one line that is the same in each run. */
  readonly what: string;
  readonly figure: string;
}

export function record(item: number, what: string, figure: string): void {
  const path = process.env["FAULTS_RECORD"];
  const line: Figure = { item, test: basename(process.argv[1] ?? "", ".test.js"), what, figure };
  if (path !== undefined) appendFileSync(path, `${JSON.stringify(line)}\n`);
}

/** A quantile of the values. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? 0;
}
