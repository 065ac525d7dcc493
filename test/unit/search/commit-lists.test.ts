import t from "tap";
import { serializeError, TrawlError } from "../../../src/base/errors.js";
import type { ReadPool } from "../../../src/pool/read-pool.js";
import type { CoverResult } from "../../../src/protocol/history-messages.js";
import { CommitLists } from "../../../src/search/history/history-choice.js";

const limits = { timeoutMs: 1000, stop: new Int32Array(1), client: "c" };

t.test("lists of commits are kept until the next sync", async (t) => {
  const asked: string[] = [];
  const reads = {
    run: (request: { readonly repositoryId: number; readonly from: readonly string[] }) => {
      asked.push(`${request.repositoryId} ${request.from.join()}`);
      const list = { count: 0, oidBytes: 20, oids: new Uint8Array(0), dates: new Float64Array(0) };
      return Promise.resolve({ list, missing: [], ambiguous: [] });
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

t.test("which history shards have a list is kept as long as the shards are the same", async (t) => {
  const lists = new CommitLists();
  const list = { count: 0, oidBytes: 20, oids: new Uint8Array(0), dates: new Float64Array(0) };
  const running = { isStopped: false };
  const cover = {
    shards: [],
    missing: new Uint32Array(0),
    brokenCount: 0,
    largeFileCount: 0,
    cutMessageCount: 0,
    failures: [],
  };
  let asked = 0;
  const ask = async (ids: readonly number[], control = running, answer: CoverResult = cover): Promise<number> => {
    asked = 0;
    const shards = ids.map((id) => ({ id, checksum: 0, verified: new Int32Array(2) }));
    await lists.cover({ list, shards }, control, () => {
      asked++;
      return Promise.resolve(answer);
    });
    return asked;
  };
  const failures = [{ shardId: 1, error: serializeError(new TrawlError("corrupt-shard", "damaged")) }];
  t.equal(await ask([1], running, { ...cover, failures }), 1);
  t.equal(await ask([1], { isStopped: true }), 1, "a shard was damaged");
  t.equal(await ask([1]), 1, "the search was stopped, so some may be missing");
  t.equal(await ask([1]), 0);
  t.equal(await ask([1, 2]), 1);
  t.equal(await ask([1, 2]), 0);
  t.equal(await ask([1]), 1);
});
