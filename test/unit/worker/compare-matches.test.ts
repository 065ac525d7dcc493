/** What is compared may be of a node that was lost meanwhile. What nodes say was looked at before: see `ToldChanges`. */
import t from "tap";
import type { MatchChange } from "../../../src/model/match-change.js";
import { sideName } from "../../../src/protocol/read-messages.js";
import { answerCompareMatches } from "../../../src/worker/read/compare-matches.js";

const revision = (side: number) => ({ side, repository: `r${side}`, repositoryId: side, revision: "" });

function path(side: number, isNew: boolean, name: string): object {
  return { type: "path", branches: [sideName(side, isNew)], commit: isNew ? "new" : "old", path: name };
}

function compare(text: string, isPartial = true) {
  const matches = [Buffer.from(text)];
  return answerCompareMatches(
    { kind: "compare-matches", matches, revisions: [7, 33_554_432].map(revision), isPartial },
    { stop: () => false },
  );
}

t.test("matches of revisions that nobody tells of are left out", (t) => {
  const matches = [
    path(33_554_432, true, "a"),
    path(7, false, "b"),
    path(8, true, "c"),
    { ...path(7, true, "d"), branches: undefined },
  ];
  const { pieces, ...counts } = compare(JSON.stringify(matches));
  t.same(counts, { came: 1, went: 1, moved: 0 });
  const changes = JSON.parse(`[${Buffer.concat(pieces).toString()}]`) as MatchChange[];
  t.match(changes, [
    { change: "went", repository: "r7", path: "b" },
    { change: "came", repository: "r33554432", path: "a" },
  ]);
  t.equal(changes.length, 2);
  t.end();
});

t.test("if nobody was lost, all are of revisions that are compared", (t) => {
  t.throws(() => compare(JSON.stringify([path(8, true, "a")]), false), /a match is of a revision that is compared/);
  t.same(compare(JSON.stringify([path(7, true, "a")]), false).came, 1);
  t.end();
});
