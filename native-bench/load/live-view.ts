import { grouped, short } from "../report/numbers.js";
import type { SecondRow } from "./result.js";

/** Shows a running load: on a terminal a few lines that are redrawn each second, otherwise a line each second. */
export class LiveView {
  readonly #out: NodeJS.WriteStream;
  readonly #durationSeconds: number;
  #drawnLines = 0;

  constructor(out: NodeJS.WriteStream, durationSeconds: number) {
    this.#out = out;
    this.#durationSeconds = durationSeconds;
  }

  show(row: SecondRow): void {
    const lines = viewLines(row, this.#durationSeconds);
    if (!this.#out.isTTY) {
      this.#out.write(`${lines.map((line) => line.trim()).join(" | ")}\n`);
      return;
    }
    const up = this.#drawnLines === 0 ? "" : `\x1b[${this.#drawnLines}A`;
    const width = Math.max(20, this.#out.columns) - 1;
    this.#out.write(`${up}${lines.map((line) => `\r\x1b[2K${line.slice(0, width)}\n`).join("")}`);
    this.#drawnLines = lines.length;
  }
}

/** The number of lines is the same throughout a run. */
export function viewLines(row: SecondRow, durationSeconds: number): string[] {
  const { second, due, good, bytes, inFlight, waiting, failuresSoFar, classes } = row;
  const head = [
    second < durationSeconds ? `${second + 1} s of ${short(durationSeconds)}` : "last answers",
    `due ${grouped(due)}/s`,
    `answered ${grouped(good)}/s`,
    `${short(bytes / 1e6)} MB/s`,
    `in flight ${grouped(inFlight)}${waiting > 0 ? ` (${grouped(waiting)} wait for a connection)` : ""}`,
  ];
  const failures = Object.entries(failuresSoFar).map(([kind, count]) => `${kind} ${grouped(count)}`);
  const latencies = classes.map(({ name, count, p50Ms, p99Ms }) => {
    const text = count === 0 ? "–" : `p50 ${short(p50Ms)} ms   p99 ${short(p99Ms)} ms`;
    return `  ${name.padEnd(12)}${text}`;
  });
  const last = failures.length === 0 ? "  no failures" : `  failures: ${failures.join(", ")}`;
  return [head.join("   "), ...latencies, last];
}
