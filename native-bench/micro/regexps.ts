import { compileRegexp } from "../../src/regexp/compile.js";
import type { Matcher } from "../../src/regexp/matcher.js";
import { timed, type BenchGroup, type MicroBench, type Subject } from "./bench.js";
import type { Fixture } from "./fixture.js";
import { scanAllLines } from "./scan.js";

const million = 1e6;

/** Lines that are tried at most. */
const lineCountMax = 200_000;

/** Of the text that is searched whole: a regexp without a literal is slow. */
const wholeBytesMax = 16e6;

interface Range {
  readonly from: number;
  readonly to: number;
}

/**
 * RE2 as a search uses it: on the lines that hold a literal, and on whole contents. Beside it V8's own regexps on
 * strings of the same bytes, and what a call per line costs that does next to nothing.
 */
export async function regexpGroup(fixture: Fixture): Promise<BenchGroup> {
  const [kernel] = fixture.kernels;
  const words = scanAllLines(kernel, fixture.content, Buffer.from("error"));
  const lines = Array.from({ length: Math.min(lineCountMax, words.length / 2) }, (_, i) => ({
    from: words[2 * i],
    to: words[2 * i + 1],
  }));
  const contents = contentsOf(fixture);
  const call: Subject = {
    name: "one call each",
    result: undefined,
    run: () =>
      timed(() => {
        for (const { from, to } of lines) kernel.countNewlines(fixture.content, to, Math.max(from, to));
        return lines.length / million;
      }),
  };
  const benches: MicroBench[] = [
    {
      task: "`[a-z]+_?error` on lines with `error`",
      unit: "M lines",
      subjects: [...matching(fixture, "[a-z]+_?error", lines, lines.length / million), call],
    },
    {
      task: "`[a-z]+_?error` on whole contents",
      unit: "MB",
      subjects: [
        ...matching(fixture, "[a-z]+_?error", contents, bytesOf(contents) / million),
        ...fixture.limit("memory", "read", 1 / million),
      ],
    },
    {
      task: "`[a-z]+[0-9]+_[a-z]+\\(` on whole contents",
      unit: "MB",
      subjects: [
        ...matching(fixture, "[a-z]+[0-9]+_[a-z]+\\(", contents, bytesOf(contents) / million),
        ...fixture.limit("memory", "read", 1 / million),
      ],
    },
  ];
  return { title: "Regexps", benches, close: async () => {} };
}

function contentsOf({ reader }: Fixture): Range[] {
  const ranges: Range[] = [];
  for (let i = 0; i < reader.contentCount && reader.contentStart[i + 1] <= wholeBytesMax; i++) {
    ranges.push({ from: reader.contentStart[i], to: reader.contentStart[i + 1] });
  }
  return ranges;
}

function bytesOf(ranges: readonly Range[]): number {
  return ranges.reduce((sum, { from, to }) => sum + to - from, 0);
}

function matching(fixture: Fixture, source: string, ranges: readonly Range[], amount: number): Subject[] {
  const matcher = compileRegexp(source, false);
  const expression = new RegExp(source, "gm");
  const subject = (name: string, count: () => number): Subject => ({
    name,
    result: () => String(count()),
    run: () =>
      timed(() => {
        count();
        return amount;
      }),
  });
  return [
    subject("RE2", () => countWithRe2(matcher, fixture.content, ranges)),
    subject("V8 on strings", () => countWithV8(expression, fixture.content, ranges)),
  ];
}

function countWithRe2(matcher: Matcher, text: Buffer, ranges: readonly Range[]): number {
  let count = 0;
  const sink = { push: () => count++ };
  for (const { from, to } of ranges) matcher.findAll(text.subarray(from, to), from, sink);
  return count;
}

function countWithV8(expression: RegExp, text: Buffer, ranges: readonly Range[]): number {
  let count = 0;
  for (const { from, to } of ranges) {
    const line = text.toString("latin1", from, to);
    expression.lastIndex = 0;
    while (expression.exec(line) !== null) count++;
  }
  return count;
}
