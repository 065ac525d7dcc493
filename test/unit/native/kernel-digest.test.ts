import t from "tap";
import { resultWordCount, resultWords } from "../../../src/native/kernel/kernel.js";
import { addToDigest, emptyDigest, murmur, noPosition, printDigest } from "../../../src/native/kernel/result-digest.js";
import { forEachKernel, holds } from "../../support/kernel-support.js";
import { fc } from "../../support/property.js";

/** A result with the start and end of its rows in its content. */
const result = fc.record({
  key: fc.uint8Array({ minLength: 16, maxLength: 16 }),
  path: fc.uint8Array({ maxLength: 40 }),
  rows: fc.array(fc.tuple(fc.nat({ max: 1000 }), fc.nat({ max: 1000 })), { maxLength: 5 }),
});

t.test("the hash is MurmurHash3_x86_128", async (t) => {
  const hash = (text: string): string => {
    const bytes = Buffer.from(text);
    return printDigest(Uint32Array.of(...murmur(bytes.subarray(0, 16), bytes.subarray(16)), 0));
  };
  t.equal(hash("The quick brown fox jumps over the lazy dog"), "2f1583c3ecee2c675d7bf66ce5e91d2c");
});

forEachKernel("the digest is the sum over all rows, however they are divided among calls", (t, kernel) => {
  holds(
    t,
    300,
    fc.property(fc.array(result, { minLength: 1, maxLength: 5 }), fc.nat(), fc.nat(), (all, cutResult, cutRow) => {
      const expected = emptyDigest();
      const paths: Buffer[] = [];
      const fragments: Buffer[] = [];
      const rows: number[] = [];
      const words = new Uint32Array(all.length * resultWordCount);
      let at = 0;
      for (const [i, { key, path, rows: own }] of all.entries()) {
        const word = i * resultWordCount;
        words[word + resultWords.pathFrom] = at;
        words[word + resultWords.pathTo] = at + path.length;
        words[word + resultWords.headFrom] = 16 * (i + 1);
        words[word + resultWords.contentFrom] = 77 * i;
        words[word + resultWords.rowFrom] = rows.length / 2;
        at += path.length;
        paths.push(Buffer.from(path));
        fragments.push(Buffer.from(key));
        for (const [start, end] of own) rows.push(77 * i + start, 77 * i + end);
        words[word + resultWords.rowTo] = rows.length / 2;
        for (const [start, end] of own) addToDigest(expected, key, path, start, end);
        if (own.length === 0) addToDigest(expected, key, path, noPosition, noPosition);
      }
      const middle = cutResult % all.length;
      const row = all[middle].rows.length === 0 ? 0 : cutRow % all[middle].rows.length;
      const sum = emptyDigest();
      for (const range of [
        [0, 0, middle, row],
        [middle, row, all.length, 0],
      ])
        kernel.digestResults(
          Buffer.concat(paths),
          Buffer.concat(fragments),
          words,
          all.length,
          Uint32Array.from(rows),
          Uint32Array.from(range),
          sum,
        );
      return sum.every((value, i) => value === expected[i]);
    }),
  );
});
