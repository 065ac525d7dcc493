import { compileRegexp } from "../../src/regexp/match/compile.js";
import { timed, working, type BenchGroup, type MicroBench, type Subject } from "./bench.js";
import type { Fixture } from "./fixture.js";
import { scanAllLines } from "./scan.js";

const million = 1e6;

/** The most lines to try. */
const lineCountMax = 200_000;

/** How much text is searched whole: a regexp without a literal is slow. */
const wholeBytesMax = 16e6;

interface Range {
  readonly from: number;
  readonly to: number;
}

/**
 * RE2 as a search uses it: on the lines that hold a literal, and on whole contents. Beside it V8's own regexps on
 * strings of the same bytes, and the cost of a call per line that does next to nothing.
 */
export async function regexpGroup(fixture: Fixture): Promise<BenchGroup> {
  const lines = linesWith(fixture, "error");
  const contents = contentRanges(fixture);
  const bytes = contents.reduce((sum, { from, to }) => sum + to - from, 0);
  const whole = (source: string): MicroBench => {
    const subjects = matching(fixture, source, contents, bytes / million);
    const memory = fixture.limit("memory", "read", 1 / million);
    return { task: `\`${source}\` on whole contents`, unit: "MB", subjects: [...subjects, ...memory] };
  };
  const onLines = matching(fixture, "[a-z]+_?error", lines, lines.length / million);
  const benches: MicroBench[] = [
    {
      task: "`[a-z]+_?error` on lines with `error`",
      unit: "M lines",
      subjects: [...onLines, emptyCalls(fixture, lines)],
    },
    whole("[a-z]+_?error"),
    whole("[a-z]+[0-9]+_[a-z]+\\("),
  ];
  return { title: "Regexps", benches, close: async () => {} };
}

function linesWith(fixture: Fixture, word: string): Range[] {
  const words = scanAllLines(fixture.kernels[0], fixture.content, Buffer.from(word));
  const count = Math.min(lineCountMax, words.length / 2);
  return Array.from({ length: count }, (_, i) => ({ from: words[2 * i], to: words[2 * i + 1] }));
}

function contentRanges({ reader }: Fixture): Range[] {
  const ranges: Range[] = [];
  for (let i = 0; i < reader.contentCount && reader.contentStart[i + 1] <= wholeBytesMax; i++)
    ranges.push({ from: reader.contentStart[i], to: reader.contentStart[i + 1] });
  return ranges;
}

function emptyCalls({ kernels: [kernel], content }: Fixture, lines: readonly Range[]): Subject {
  const callEach = (): number => {
    for (const { from, to } of lines) kernel.countNewlines(content, to, Math.max(from, to));
    return lines.length / million;
  };
  return { name: "one call each", result: undefined, run: () => timed(callEach) };
}

function matching({ content }: Fixture, source: string, ranges: readonly Range[], amount: number): Subject[] {
  const matcher = compileRegexp(source, false);
  const expression = new RegExp(source, "gm");
  const countWithRe2 = (): number => {
    let count = 0;
    const sink = { push: () => count++ };
    for (const { from, to } of ranges) matcher.findAll(content.subarray(from, to), from, sink);
    return count;
  };
  const countWithV8 = (): number => {
    let count = 0;
    for (const { from, to } of ranges) {
      const line = content.toString("latin1", from, to);
      expression.lastIndex = 0;
      while (expression.exec(line) !== null) count++;
    }
    return count;
  };
  return [
    { name: "RE2", ...working(amount, countWithRe2) },
    { name: "V8 on strings", ...working(amount, countWithV8) },
  ];
}
