import t from "tap";
import { CommitPageWriter, readPage, type FoundCommit, cutCommitMatch } from "../../../src/protocol/commit-page.js";
import { randomFrom } from "../../support/random.js";
import { seed } from "../../support/property.js";

t.test("a page is read as it was written", async (t) => {
  const random = randomFrom(seed);
  for (let run = 0; run < 200; run++) {
    const optionsCount = 1 + random(3);
    const texts: string[] = [];
    const writer = new CommitPageWriter();
    const given: Omit<FoundCommit, "json" | "from" | "to">[] = [];
    for (let count = random(20); count > 0; count--) {
      const matches = Array.from({ length: 1 + random(optionsCount) }, (_, i) => ({
        optionsIndex: optionsCount - 1 - i,
        count: 1 + random(2),
      }));
      const found = {
        kind: random(2) === 0 ? ("commit" as const) : ("diff" as const),
        oid: String(random(1e9)).padStart(40, "0"),
        committed: random(2) * 1e12 - 5,
        matchCount: 1 + random(2),
        matches,
        authorName: `name ${random(3)}`,
        authorEmail: `mail ${random(3)}`,
        rangeCount: random(4),
      };
      texts.push(JSON.stringify({ n: random(1000), ranges: [] }));
      given.push(found);
      writer.add(found, texts.join(",").length + 1);
    }
    const read = readPage(writer.page(Buffer.from(`${texts.join(",")},`)));
    t.same(
      read.map(({ json: _, from: _from, to: _to, ...columns }) => columns),
      given,
    );
    t.same(
      read.map((found) => Buffer.from(cutCommitMatch(found, Infinity)).toString()),
      texts,
    );
  }
});

t.test("a match with more ranges than are left has the first ones only", async (t) => {
  const [found] = readOne(2, '{"a":1,"ranges":[[1,2,3],[4,5,6]]}');
  t.same(JSON.parse(Buffer.from(cutCommitMatch(found, 1)).toString()), { a: 1, ranges: [[1, 2, 3]] });
});

function readOne(rangeCount: number, json: string): FoundCommit[] {
  const writer = new CommitPageWriter();
  const matches = [{ optionsIndex: 0, count: rangeCount }];
  const author = { authorName: "a", authorEmail: "b" };
  writer.add(
    { kind: "commit", oid: "00", committed: 1, matchCount: rangeCount, matches, ...author, rangeCount },
    json.length + 1,
  );
  return readPage(writer.page(Buffer.from(`${json},`)));
}
