/**
 * Tests that `make faults` runs with larger counts, and what they tell of it.
 *
 * `FAULTS` is the part of the full counts that a run is given, such as 1 or 0.1; without it each test has its usual,
 * small count. By hand: `TAP_TIMEOUT=9999 FAULTS=1 node dist/test/NAME.test.js`. `MINUTES` bounds the time of each
 * loop. `FAULTS_RECORD` names a file to which figures are appended as lines of JSON.
 */
import { appendFileSync } from "node:fs";
import { basename } from "node:path";
import { monotonicMs } from "../../src/base/deadline.js";

const share = Number(process.env["FAULTS"] ?? 0);

/** Whether this is a long run. */
export const isFull = share > 0;

/** How often something is done: `usual` in `make test`, `full` in a whole `make faults`. */
export function scaled(usual: number, full: number): number {
  return Math.max(usual, Math.round(full * share));
}

/** Numbers from 0, `count` of them unless `MINUTES` are over before. */
export function* rounds(count: number): Generator<number> {
  const endMs = monotonicMs() + 60_000 * Number(process.env["MINUTES"] || Infinity);
  for (let i = 0; i < count && monotonicMs() < endMs; i++) yield i;
}

/** One figure about an item of the reliability plan. */
export interface Figure {
  readonly item: number;
  /** Name of the test file, without its ending. */
  readonly test: string;
  /** What was done or measured: one line, the same in each run. */
  readonly what: string;
  readonly figure: string;
}

export function record(item: number, what: string, figure: string): void {
  const path = process.env["FAULTS_RECORD"];
  const line: Figure = { item, test: basename(process.argv[1] ?? "", ".test.js"), what, figure };
  if (path !== undefined) appendFileSync(path, `${JSON.stringify(line)}\n`);
}

/** The value below which a part of the values lies. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? 0;
}
