/** The ranges that the kernel scans: each byte of the wanted units once, in as few ranges as possible. */
import assert from "node:assert/strict";
import t from "tap";
import { type LeafPlan, type LiteralScan, ScanRanges } from "../../../src/eval/match/leaf-plan.js";
import { loadKernel } from "../../../src/native/kernel/load.js";
import { unitBytes } from "../../../src/shard/format.js";
import { testRepository, testShard } from "../../support/engine.js";
import { fc, runs } from "../../support/property.js";

/** Sizes in units of the contents: at and around the borders of units, and empty. */
const sizes = [0.5, 3, 2.25, 0, 1, 4.75, 0, 2];
const { reader } = testShard(
  loadKernel("ts"),
  [
    ...sizes.map((size, i) => ({ path: `${i}`, content: "x".repeat(size * unitBytes) })),
    { path: "binary", content: "", skipReason: "binary" as const },
  ],
  [testRepository(1, "host/one")],
);
const contentCount = sizes.length;

function planWith(scans: readonly (Uint32Array | undefined)[], exceptions: readonly number[]): LeafPlan {
  const withNeedle = (units: Uint32Array | undefined): LiteralScan => ({ needle: Buffer.from("x"), units });
  return {
    method: "literals",
    scans: scans.map(withNeedle),
    candidates: undefined,
    exceptions: Uint32Array.from(exceptions),
    postingBytes: 0,
  };
}

/** The result of the last `fill`, as `from-to/end` or `from-to/end>start`. */
function print({ words, count }: ScanRanges, width: 3 | 4): string {
  return Array.from({ length: count }, (_, i) => {
    const [from, to, end, start] = words.subarray(i * width, (i + 1) * width);
    return `${from}-${to}/${end}${start === undefined ? "" : `>${start}`}`;
  }).join(" ");
}

/** One byte after the other: a range goes on while the byte is in a wanted unit of the same content. */
function naive(contents: readonly number[], units: ReadonlySet<number> | undefined, width: 3 | 4): string {
  const ranges: string[] = [];
  for (const content of contents) {
    if (content >= contentCount) continue;
    const [start, end] = [reader.contentStart[content]!, reader.contentStart[content + 1]!];
    const isWanted = (at: number): boolean =>
      units === undefined || units.has(reader.contentFirstUnit[content]! + Math.floor((at - start) / unitBytes));
    for (let from = start; from < end; from++) {
      if (!isWanted(from)) continue;
      let to = from;
      while (to < end && isWanted(to)) to++;
      ranges.push(`${from}-${to}/${end}${width === 4 ? `>${start}` : ""}`);
      from = to;
    }
  }
  return ranges.join(" ");
}

t.test("without units each content is one range, which may be empty", async (t) => {
  const ranges = new ScanRanges(planWith([undefined], []), reader);
  ranges.fill(Uint32Array.of(0, 2, 3), 0, 4, 0);
  const at = (units: number): number => units * unitBytes;
  t.equal(
    print(ranges, 4),
    `0-${at(0.5)}/${at(0.5)}>0 ${at(3.5)}-${at(5.75)}/${at(5.75)}>${at(3.5)} ${at(5.75)}-${at(5.75)}/${at(5.75)}>${at(5.75)}`,
  );
  t.equal(ranges.byteCount, at(2.75));
  ranges.fill(Uint32Array.of(4, contentCount), 0, 3, 0);
  t.equal(print(ranges, 3), `${at(5.75)}-${at(6.75)}/${at(6.75)}`, "documents without content have no range");
  t.equal(ranges.byteCount, at(3.75), "over both calls");
});

t.test("contents that are searched completely have no range", async (t) => {
  const ranges = new ScanRanges(planWith([undefined], [0, 2, 5]), reader);
  ranges.fill(Uint32Array.of(0, 1, 2), 0, 3, 0);
  t.equal(print(ranges, 3), naive([1], undefined, 3));
  ranges.fill(Uint32Array.of(4, 5, 7), 0, 3, 2);
  t.equal(print(ranges, 3), naive([4, 7], undefined, 3));
});

t.test("more ranges than there is room for at first", async (t) => {
  const documents = Array.from({ length: 300 }, (_, i) => ({ path: `${i}`, content: `${i}` }));
  const { reader: many } = testShard(loadKernel("ts"), documents, [testRepository(1, "host/one")]);
  const ranges = new ScanRanges(planWith([undefined], []), many);
  ranges.fill(Uint32Array.from(documents.keys()), 0, 4, 0);
  t.equal(ranges.count, 300);
  t.equal(ranges.byteCount, many.contentBytes);
  t.ok(
    documents.every(
      (_, i) => ranges.words[4 * i] === many.contentStart[i] && ranges.words[4 * i + 3] === many.contentStart[i],
    ),
  );
});

const subset = (count: number): fc.Arbitrary<number[]> => fc.subarray(Array.from({ length: count }, (_, i) => i));

t.test("the ranges are those of a look at every byte, in several calls and for several literals", async (t) => {
  const given = fc.record({
    contents: subset(contentCount + 1),
    cut: fc.nat(contentCount),
    scans: fc.array(fc.option(subset(reader.unitCount), { nil: undefined }), { minLength: 1, maxLength: 3 }),
    exceptions: subset(contentCount),
    width: fc.constantFrom(3 as const, 4 as const),
  });
  fc.assert(
    fc.property(given, ({ contents, cut, scans, exceptions, width }) => {
      const plan = planWith(
        scans.map((units) => (units === undefined ? undefined : Uint32Array.from(units))),
        exceptions,
      );
      const ranges = new ScanRanges(plan, reader);
      let byteCount = 0;
      for (const block of [contents.slice(0, cut), contents.slice(cut)]) {
        const before = exceptions.filter((content) => content < (block[0] ?? 0)).length;
        scans.forEach((units, i) => {
          ranges.fill(Uint32Array.from(block), i, width, before);
          const wanted = block.filter((content) => !exceptions.includes(content));
          // An empty content has no byte; as a whole it is a range without bytes.
          const shown = print(ranges, width)
            .split(" ")
            .filter((range) => !/^(\d+)-\1\//.test(range))
            .join(" ");
          assert.equal(shown, naive(wanted, units === undefined ? undefined : new Set(units), width));
          for (let k = 0; k < ranges.count; k++) byteCount += ranges.words[k * width + 1]! - ranges.words[k * width]!;
        });
      }
      assert.equal(ranges.byteCount, byteCount);
    }),
    { numRuns: runs(40) },
  );
  t.pass();
});
