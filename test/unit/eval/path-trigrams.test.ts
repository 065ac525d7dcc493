/** A literal that occurs in a path, in any ASCII case, passes; most that occur in none do not. */
import t from "tap";
import { PathTrigrams } from "../../../src/eval/match/path-match.js";
import { fc, runs } from "../../support/property.js";

t.test("every part of every path passes, in any case", async () => {
  const path = fc.string({ minLength: 1, maxLength: 30, unit: "binary" });
  fc.assert(
    fc.property(fc.array(path, { minLength: 1, maxLength: 20 }), fc.nat(), fc.nat(), (paths, a, b) => {
      const text = Buffer.from(paths.map((one) => `${one}\0`).join(""));
      const trigrams = new PathTrigrams(text);
      const [from, to] = [a % text.length, b % text.length].sort((x, y) => x - y);
      const part = text.subarray(from, to);
      const other = Buffer.from(part.map((byte) => (byte >= 65 && byte <= 90 ? byte | 32 : byte)));
      return trigrams.mayContain(part) && trigrams.mayContain(other);
    }),
    { numRuns: runs(300) },
  );
});

t.test("words that occur in no path are ruled out", async (t) => {
  const paths = Buffer.from(Array.from({ length: 4000 }, (_, i) => `drivers/net/device${i}/core.c\0`).join(""));
  const trigrams = new PathTrigrams(paths);
  for (const word of ["drivers/", "DEVICE12", "core.c", "e", ""]) t.ok(trigrams.mayContain(Buffer.from(word)), word);
  const absent = Array.from({ length: 1000 }, (_, i) => `zq${i * 7919}xv`);
  t.ok(absent.filter((word) => trigrams.mayContain(Buffer.from(word))).length < 10);
  t.equal(trigrams.hasFoldException, false);
  t.ok(new PathTrigrams(Buffer.from("a/\u212aernel\0")).hasFoldException, "the Kelvin sign is a k");
});
