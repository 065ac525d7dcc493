import type { HunkData } from "../git/history/file-diffs.js";

interface Run {
  readonly oldLine: number;
  readonly newLine: number;
  readonly count: number;
}

/** Which lines of two texts are the same, by the diff between them. Lines count from 0. */
export class LineMap {
  /** Runs of lines that are the same, in order; those between two hunks belong to one. */
  readonly #runs: readonly Run[];

  constructor(hunks: readonly Pick<HunkData, "oldStart" | "oldCount" | "newStart" | "newCount" | "body">[]) {
    const runs: Run[] = [];
    let [oldLine, newLine] = [0, 0];
    for (const { oldStart, oldCount, newStart, newCount, body } of hunks) {
      // A range without lines stands behind the line that it names.
      const [oldFrom, newFrom] = [oldCount === 0 ? oldStart : oldStart - 1, newCount === 0 ? newStart : newStart - 1];
      if (oldFrom > oldLine) runs.push({ oldLine, newLine, count: oldFrom - oldLine });
      [oldLine, newLine] = [oldFrom, newFrom];
      for (let at = 0; at < body.length; ) {
        const sign = body.charAt(at);
        if (sign === " ") runs.push({ oldLine, newLine, count: 1 });
        if (sign === " " || sign === "-") oldLine++;
        if (sign === " " || sign === "+") newLine++;
        const end = body.indexOf("\n", at);
        at = end < 0 ? body.length : end + 1;
      }
    }
    runs.push({ oldLine, newLine, count: Infinity });
    this.#runs = runs;
  }

  /** The line of the new text that is this line of the old one; undefined if it was changed. */
  toNew(line: number): number | undefined {
    const run = this.#find(line, ({ oldLine }) => oldLine);
    return run === undefined ? undefined : run.newLine + line - run.oldLine;
  }

  toOld(line: number): number | undefined {
    const run = this.#find(line, ({ newLine }) => newLine);
    return run === undefined ? undefined : run.oldLine + line - run.newLine;
  }

  #find(line: number, start: (run: Run) => number): Run | undefined {
    let [low, high] = [0, this.#runs.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (start(this.#runs[middle]) <= line) low = middle + 1;
      else high = middle;
    }
    const run = low === 0 ? undefined : this.#runs[low - 1];
    return run !== undefined && line < start(run) + run.count ? run : undefined;
  }
}
