import t from "tap";
import type { FoundCommit } from "../../../src/protocol/commit-page.js";
import { compareResults, mergePages, type ResultPages } from "../../../src/search/history/read-history.js";
import { seed } from "../../support/property.js";
import { randomFrom } from "../../support/random.js";

function result(committed: number, oid: string): FoundCommit {
  const json = new Uint8Array(0);
  const author = { authorName: "", authorEmail: "" };
  return { kind: "commit", oid, committed, matchCount: 1, matches: [], ...author, rangeCount: 0, json, from: 0, to: 0 };
}

async function* inPages(results: readonly FoundCommit[], pageLength: () => number): ResultPages {
  for (let at = 0; at < results.length; ) {
    const length = pageLength();
    yield results.slice(at, at + length);
    at += length;
  }
}

async function readAll(pages: ResultPages): Promise<FoundCommit[]> {
  const all: FoundCommit[] = [];
  for await (const page of pages) all.push(...page);
  return all;
}

t.test("sources are merged in the order of results, however they are divided into pages", async (t) => {
  const random = randomFrom(seed);
  for (let round = 0; round < 300; round++) {
    const lists = Array.from({ length: random(5) }, () =>
      Array.from({ length: random(12) }, () => result(random(20), String(random(1000)))).sort(compareResults),
    );
    const sources = lists.map((list) => ({
      newest: (list[0]?.committed ?? 0) + random(3),
      open: () => inPages(list, () => random(4)),
    }));
    const found = await readAll(mergePages(sources, random(3)));
    t.same(found, lists.flat().sort(compareResults));
  }
});

t.test("a source is opened when its results are needed, or one of those that are opened in advance", async (t) => {
  const opened: number[] = [];
  const source = (newest: number) => ({
    newest,
    open: () => {
      opened.push(newest);
      return inPages([result(newest, "a"), result(newest - 5, "b")], () => 1);
    },
  });
  const pages = mergePages([source(10), source(100), source(50), source(97)], 0);
  t.equal((await pages.next()).value?.[0].committed, 100);
  t.same(opened, [100]);
  t.equal((await pages.next()).value?.[0].committed, 97);
  t.same(opened, [100, 97]);
  await pages.return();
  t.same(opened, [100, 97]);
  const ahead = mergePages([source(10), source(100), source(50), source(97)], 1);
  opened.length = 0;
  await ahead.next();
  t.same(opened, [100, 97]);
  await ahead.return();
});

t.test("a failure is reported in its turn, and the other sources are closed", async (t) => {
  let isClosed = false;
  const endless = async function* (): ResultPages {
    try {
      for (let at = 100; ; at--) yield [result(at, "a")];
    } finally {
      isClosed = true;
    }
  };
  const failing = async function* (): ResultPages {
    yield [result(98, "b")];
    throw new Error("lost");
  };
  const found: number[] = [];
  const run = async () => {
    const sources = [
      { newest: 100, open: endless },
      { newest: 98, open: failing },
    ];
    for await (const page of mergePages(sources, 3)) found.push(...page.map(({ committed }) => committed));
  };
  await t.rejects(run(), { message: "lost" });
  t.same(found, [100, 99, 98, 98]);
  t.ok(isClosed);
});
