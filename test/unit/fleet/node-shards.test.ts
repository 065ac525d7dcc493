/** Shards between the store of a node and the objects of its fleet: what is copied, and what of it is forgotten. */
import t from "tap";
import { TrawlError } from "../../../src/base/errors.js";
import { ObjectShards } from "../../../src/fleet/node-shards.js";
import type { SymbolRecord } from "../../../src/model/shard-record.js";
import type { BringObjectTask } from "../../../src/protocol/ingest-messages.js";

const hashOf = (digit: string): string => digit.repeat(64);

const record = {
  checksum: 1,
  object: hashOf("a"),
  storedBytes: 10,
  contentBytes: 10,
  documentCount: 1,
  repositoryIds: [1],
};

const symbols = (digit: string): SymbolRecord => {
  return { checksum: 2, object: hashOf(digit), storedBytes: 5, symbolCount: 1, failedCount: 0, producer: "ctags" };
};

t.test("a shard that was brought for nothing gets the symbols that were extracted since", async (t) => {
  const brought: string[] = [];
  const retired: number[] = [];
  let missing = "";
  const shards = new ObjectShards({
    pool: {
      bringObject: ({ name, shard }: BringObjectTask) => {
        if (name.hash === missing) return Promise.reject(new TrawlError("storage", "it is not there"));
        brought.push(`${name.kind} ${name.hash.slice(0, 1)} as ${shard.id}`);
        return Promise.resolve();
      },
      storeObject: () => Promise.reject(new TrawlError("internal", "nothing is stored")),
    },
    objects: { address: { kind: "folder", path: "/nonexistent" }, credential: "" },
    shardIds: new Int32Array(new SharedArrayBuffer(4)).fill(7),
    stop: new Int32Array(new SharedArrayBuffer(4)),
    retire: (ids) => void retired.push(...ids),
  });
  const bring = (one: object): Promise<number> => shards.bring("one", { ...record, ...one }, "text");
  t.equal(await bring({}), 7);
  t.same(brought.splice(0), ["shard a as 7"]);
  t.equal(await bring({}), 7, "the next attempt finds it");
  t.same(brought, []);
  missing = hashOf("b");
  await t.rejects(bring({ symbols: symbols("b") }), { message: "it is not there" });
  t.same(retired, [], "the shard itself is whole");
  missing = "";
  t.equal(await bring({ symbols: symbols("b") }), 7);
  t.same(brought.splice(0), ["symbols b as 7"]);
  t.equal(await bring({ symbols: symbols("b") }), 7);
  t.same(brought, [], "once");
  await bring({ symbols: symbols("c") });
  t.same(brought.splice(0), ["symbols c as 7"], "another ctags has found others");
  missing = hashOf("d");
  await t.rejects(shards.bring("two", { ...record, symbols: symbols("d") }, "text"), { message: "it is not there" });
  t.same(retired.splice(0), [8], "without its symbols it is none");
  missing = "";
  t.equal(await shards.bring("two", record, "text"), 9);
  shards.keep(["one"]);
  t.same(retired, [9], "what no change has made live is deleted");
});
