import t from "tap";
import type { ReadPool } from "../../../src/pool/read-pool.js";
import { CommitLists } from "../../../src/search/history/commit-lists.js";

const limits = { timeoutMs: 1000, stop: new Int32Array(1), client: "c" };

t.test("lists of commits are kept until the next sync", async (t) => {
  const asked: string[] = [];
  const reads = {
    run: (request: { readonly repositoryId: number; readonly from: readonly string[] }) => {
      asked.push(`${request.repositoryId} ${request.from.join()}`);
      const list = { count: 0, oidBytes: 20, oids: new Uint8Array(0), dates: new Float64Array(0) };
      return Promise.resolve({ list, missing: [] });
    },
  } as unknown as Pick<ReadPool, "run">;
  const lists = new CommitLists();
  const ask = async (
    generation: number,
    from: readonly string[],
    without: readonly string[] = [],
    fromHead = false,
  ) => {
    asked.length = 0;
    await lists.list({ id: 7, generation }, { from, fromHead, without }, reads, limits);
    return asked.length;
  };
  t.equal(await ask(1, ["a"]), 1);
  t.equal(await ask(1, ["a"]), 0);
  t.equal(await ask(1, ["a", "b"]), 1);
  t.equal(await ask(1, ["a"], ["v1"]), 1, "a name may have moved");
  t.equal(await ask(1, ["a"], ["v1"]), 1);
  t.equal(await ask(1, [], [], true), 1, "so may HEAD");
  t.equal(await ask(1, [], [], true), 1);
  t.equal(await ask(2, ["a"]), 1, "after a sync");
  t.equal(await ask(2, ["a"]), 0);
});
