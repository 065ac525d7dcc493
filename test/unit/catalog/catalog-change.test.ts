/** A flip as it is computed: the records to write and the shards to show, and nothing that already exists changes. */
import t from "tap";
import { stageChange, type CatalogChange, type CatalogState } from "../../../src/catalog/catalog-change.js";
import { addTombstones, makeLiveShard } from "../../../src/catalog/live-shard.js";
import type { LiveShard, ShardRecord } from "../../../src/model/shard-record.js";
import { decodeSummary } from "../../../src/protocol/repository-summaries.js";
import { testRepository } from "../../support/engine.js";

const one = testRepository(1, "host/one", { stars: 5 });
const two = testRepository(2, "host/two", { stars: 2 });
const repositories = new Map([
  [1, one],
  [2, two],
]);

function shardRecord(id: number, repositoryIds: readonly number[]): ShardRecord {
  return { id, checksum: 100 + id, storedBytes: 20, contentBytes: 10, documentCount: 40, repositoryIds };
}

/** Shard 7 has both repositories and a tombstone, shard 8 has only the second one. */
function makeState(): CatalogState {
  const find = (id: number) => repositories.get(id);
  const shards = [
    makeLiveShard(shardRecord(7, [1, 2]), find, addTombstones(undefined, [3], 40)),
    makeLiveShard(shardRecord(8, [2]), find, undefined),
  ];
  return { repositories, shards, history: [], counters: { nextRepositoryId: 3, nextShardId: 9 } };
}

/** `key=value` for each record that is written, `-key` for each that is deleted; tombstones as words. */
function printRecords(change: CatalogChange): string[] {
  return stageChange(change, makeState())
    .records.map(({ key, value }) => {
      if (value === undefined) return `-${key}`;
      if (key.startsWith("tombstones/"))
        return `${key}=${[...new Uint32Array(new Uint8Array(value).buffer)].map((word) => word.toString(2)).join()}`;
      const fields = JSON.parse(String(value)) as Readonly<Record<string, unknown>>;
      const shown =
        key === "counters" ? [fields.nextRepositoryId, fields.nextShardId] : (fields.repositoryIds ?? fields.name);
      return `${key}=${String(shown)}`;
    })
    .sort();
}

const rows: readonly (readonly [string, CatalogChange, readonly string[]])[] = [
  // name, change, records
  ["nothing", {}, []],
  ["a new shard, whose id is counted", { addedShards: [shardRecord(12, [1])] }, ["counters=3,13", "shard/12=1"]],
  ["a shard with an id that was reserved earlier", { addedShards: [shardRecord(6, [1])] }, ["shard/6=1"]],
  ["a repository", { repositories: [{ ...one, name: "host/uno" }] }, ["counters=3,9", "repository/1=host/uno"]],
  ["a shard is removed with its tombstones", { removedShardIds: [7] }, ["-shard/7", "-tombstones/7"]],
  ["tombstones are added to those of before", { tombstones: new Map([[7, [0, 33]]]) }, ["tombstones/7=1001,10"]],
  ["the first tombstones of a shard", { tombstones: new Map([[8, [1]]]) }, ["tombstones/8=10,0"]],
  ["a repository is hidden in one shard", { hidden: new Map([[7, [2]]]) }, ["shard/7=1,0"]],
  ["a repository that a shard does not have is not hidden in it", { hidden: new Map([[8, [1]]]) }, []],
  [
    "a removed repository is hidden in all shards",
    { removedRepositoryIds: [2] },
    ["-repository/2", "shard/7=1,0", "shard/8=0"],
  ],
  [
    "a merge",
    { addedShards: [shardRecord(9, [1, 2])], removedShardIds: [7, 8] },
    ["-shard/7", "-shard/8", "-tombstones/7", "-tombstones/8", "counters=3,10", "shard/9=1,2"],
  ],
  [
    "what is changed in a removed shard does not matter",
    { removedShardIds: [8], tombstones: new Map([[8, [1]]]), removedRepositoryIds: [2] },
    ["-repository/2", "-shard/8", "-tombstones/8", "shard/7=1,0"],
  ],
];

t.test("which records a change writes", async (t) => {
  for (const [name, change, expected] of rows) t.same(printRecords(change), expected, name);
});

/** Names of the repositories of a shard, by their number in it; "" if hidden. */
const namesOf = ({ record, summaries }: LiveShard): string[] =>
  record.repositoryIds.map((_, number) => decodeSummary(summaries, number)?.name ?? "");

t.test("a changed repository is shown in all its shards, and only they differ", async (t) => {
  const { shards } = stageChange({ repositories: [{ ...one, name: "host/uno", stars: 50 }] }, makeState());
  t.same([...shards.keys()], [7]);
  t.same(namesOf(shards.get(7)!), ["host/uno", "host/two"]);
  t.equal(shards.get(7)?.stars, 50);
  t.equal(shards.get(7)?.tombstoneCount, 1, "tombstones are kept");
});

t.test("a new shard shows a repository of the same change, and none that the change removes", async (t) => {
  const added = [shardRecord(9, [3, 2])];
  const change = { repositories: [testRepository(3, "host/three")], removedRepositoryIds: [2], addedShards: added };
  const { shards } = stageChange(change, makeState());
  t.same(namesOf(shards.get(9)!), ["host/three", ""]);
  t.same(namesOf(shards.get(7)!), ["host/one", ""]);
  t.equal(shards.get(8)?.stars, 0, "no repository of it is left");
});

t.test("the state that a change applies to stays as it is", async (t) => {
  const state = makeState();
  const [seven] = [...state.shards];
  const words = [...(seven?.tombstones ?? [])];
  stageChange(
    { tombstones: new Map([[7, [1]]]), hidden: new Map([[7, [1]]]), repositories: [{ ...two, name: "host/due" }] },
    state,
  );
  t.same([...(seven?.tombstones ?? [])], words);
  t.same(namesOf(seven!), ["host/one", "host/two"]);
  t.equal(repositories.get(2)?.name, "host/two");
});

t.test("a tombstone for a document that the shard does not have is a bug", async (t) => {
  t.throws(() => stageChange({ tombstones: new Map([[8, [40]]]) }, makeState()), /document of its shard/);
});
