/** Which contents with characters that fold into ASCII may match a literal: as RE2 says. */
import RE2 from "re2";
import t from "tap";
import { mayMatchException } from "../../../src/eval/match/leaf-scan.js";
import { loadKernel } from "../../../src/native/kernel/load.js";
import type { ShardReader } from "../../../src/shard/shard-reader.js";
import { neverStopped, testRepository, testShard } from "../../support/engine.js";
import { fc, runs } from "../../support/property.js";

const kernel = loadKernel("ts");

function shardOf(contents: readonly string[]): ShardReader {
  const documents = contents.map((content, i) => ({ path: `${i}`, content }));
  return testShard(kernel, documents, [testRepository(1, "host/one")]).reader;
}

t.test("a content may match exactly if RE2 finds a match", async (t) => {
  const characters = fc.constantFrom("a", "A", "k", "K", "s", "S", "\u212a", "\u017f", "\u0084", "\u00bf", "-");
  const texts = fc.array(fc.string({ unit: characters, maxLength: 12 }), { minLength: 1, maxLength: 5 });
  const literals = fc.string({ unit: fc.constantFrom("a", "k", "s"), minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(texts, literals, (contents, literal) => {
      const reader = shardOf(contents);
      const isFound = new RE2(literal, "iu");
      for (let content = 0; content < reader.contentCount; content++) {
        const text = reader.content.subarray(reader.contentStart[content], reader.contentStart[content + 1]).toString();
        const may = mayMatchException(reader, content, Buffer.from(literal), kernel, neverStopped);
        t.equal(may, isFound.test(text), `${literal} in ${JSON.stringify(text)}`);
      }
    }),
    { numRuns: runs(300) },
  );
});

t.test("a content with very many of these characters is left to RE2", async (t) => {
  const reader = shardOf([`${"\u017f".repeat(64)}x`, "\u017f".repeat(65)]);
  const literal = Buffer.from("absent");
  t.equal(mayMatchException(reader, 0, literal, kernel, neverStopped), false);
  t.equal(mayMatchException(reader, 1, literal, kernel, neverStopped), true);
  t.equal(mayMatchException(reader, 0, Buffer.alloc(256, "a"), kernel, neverStopped), false);
  t.equal(mayMatchException(reader, 0, Buffer.alloc(257, "a"), kernel, neverStopped), true, "so is a long literal");
});
