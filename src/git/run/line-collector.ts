import { parseProgress } from "./fetch-progress.js";

const keptErrorLines = 20;

/** Splits standard error into lines at LF and CR (progress), passes them on and keeps the last meaningful ones. */
export class LineCollector {
  readonly #onLine: ((line: string) => void) | null;
  readonly #kept: string[] = [];
  #rest = "";

  constructor(onLine: ((line: string) => void) | null) {
    this.#onLine = onLine;
  }

  get text(): string {
    return [...this.#kept, this.#rest].filter((line) => line !== "").join("\n");
  }

  add(part: Buffer): void {
    const lines = (this.#rest + part.toString("utf8")).split(/[\r\n]/);
    this.#rest = (lines.pop() ?? "").slice(-4096);
    for (const line of lines) {
      if (line === "") continue;
      this.#onLine?.(line);
      if (parseProgress(line) !== null) continue;
      this.#kept.push(line.slice(0, 4096));
      if (this.#kept.length > keptErrorLines) this.#kept.shift();
    }
  }
}
