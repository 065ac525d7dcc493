/** What both threads check of the messages of a search. */
import t from "tap";
import {
  type SearchTask,
  type SearchTaskResult,
  checkBatch,
  checkRow,
  checkSearchResult,
  checkWork,
} from "../../../src/protocol/messages.js";
import { emptyTally, type ResultBatch } from "../../../src/protocol/result-batch.js";

const batch = (json: string, selected: ResultBatch["selected"] = []): ResultBatch => ({
  bytes: Buffer.from(json),
  isLent: false,
  tally: emptyTally(),
  digest: undefined,
  selected,
});

t.test("messages of a search", async (t) => {
  const work = (...rows: number[]) => ({ rows: Uint32Array.from(rows), cached: [], ranked: undefined });
  const ranked = (only: number[], scores?: string[]) => ({
    ...work(2, 0),
    ranked: { only: Uint32Array.from(only), scores, ranges: undefined, except: undefined, examined: [] },
  });
  const known = (only: number[], ranges: undefined[], ...examined: number[]) => ({
    ...work(...only.map((_, i) => i)),
    ranked: {
      ...ranked(only).ranked,
      ranges,
      examined: examined.map((row) => ({ shard: 0, row, isWhole: true, found: new Uint32Array(0) })),
    },
  });
  const resumed = (shard: number | undefined): SearchTaskResult =>
    ({ batchCount: 0, resume: shard === undefined ? undefined : { shard } }) as SearchTaskResult;
  const task = { ...work(0, 1, 2), resume: { shard: 1 } } as unknown as SearchTask;
  const repository = {
    key: "k",
    optionsIndex: 0,
    repositoryId: 1,
    revision: "",
    kind: "repository",
    json: "",
  } as const;
  const rows: readonly (readonly [what: string, check: () => void, message: RegExp | undefined])[] = [
    ["rows that ascend", () => checkWork(work(0, 1, 2), 3), undefined],
    ["no rows", () => checkWork(work(), 0), undefined],
    ["a row past the table", () => checkWork(work(0, 3), 3), /one of the table/],
    ["rows that do not ascend", () => checkWork(work(1, 1), 3), /rows ascend/],
    ["ranked rows in any order", () => checkWork(ranked([5, 6], ["a", "b"]), 3), undefined],
    ["a ranked row without its document", () => checkWork(ranked([5]), 3), /has its document/],
    ["a ranked document without its ranges", () => checkWork(known([5, 6], []), 3), /has its ranges/],
    ["an examined shard that is not searched", () => checkWork(known([], [], 7), 3), /is one of the work/],
    ["a ranked document without its score", () => checkWork(ranked([5, 6], ["a"]), 3), /has its score/],
    ["a row that is taken", () => checkRow(work(1, 0), 1, 3), /rows ascend/],
    ["a slice that goes on", () => checkSearchResult(resumed(2), task), undefined],
    ["a slice that is done", () => checkSearchResult(resumed(undefined), task), undefined],
    ["a slice that goes back", () => checkSearchResult(resumed(0), task), /does not go back/],
    ["a slice past its rows", () => checkSearchResult(resumed(3), task), /has a row left/],
    ["whole match objects", () => checkBatch(batch('{"a":1},{"a":2}')), undefined],
    ["counts alone", () => checkBatch(batch("")), undefined],
    ["part of a match object", () => checkBatch(batch('{"a":1},{"a":')), /whole match objects/],
    ["a repository to be written", () => checkBatch(batch("", [repository])), undefined],
    ["a repository that is written", () => checkBatch(batch("", [{ ...repository, json: "{}" }])), /named or written/],
  ];
  for (const [what, check, message] of rows)
    if (message === undefined) t.doesNotThrow(check, what);
    else t.throws(check, { message }, what);
});
