/** The contract of `Manifest`, for each implementation. */
import type { Test } from "tap";
import type { CatalogChange } from "../../src/catalog/catalog-change.js";
import type { Catalog } from "../../src/catalog/catalog.js";
import type { Manifest } from "../../src/catalog/manifest.js";
import type { HistoryShardRecord } from "../../src/model/history-record.js";
import type { LiveShard, ShardRecord, SymbolRecord } from "../../src/model/shard-record.js";
import { testRepository } from "./engine.js";
import { randomFrom } from "./random.js";

/** A manifest under test, with the catalog in which its changes become visible. */
export interface ManifestSite {
  readonly catalog: Catalog;
  readonly manifest: Manifest;
  /** The same manifest as the next start of this host, or another one, finds it. */
  readonly reopened: () => Promise<ManifestSite>;
}

export const documentCount = 40;

/** The name of a shard in a fleet: of a test, made of its checksum, which is what identifies it. */
export function testShardName({ checksum = 0 }: { readonly checksum?: number | undefined }): string {
  return checksum.toString(16).padStart(64, "0");
}

export function testShardRecord(id: number, repositoryIds: readonly number[]): ShardRecord {
  return { id, checksum: 1_000 + id, storedBytes: 20, contentBytes: 10, documentCount, repositoryIds };
}

export function testHistoryRecord(id: number, repositoryId: number): HistoryShardRecord {
  return {
    id,
    checksum: 1_000 + id,
    repositoryId,
    storedBytes: 9,
    textBytes: 5,
    commitCount: 2,
    newest: 1_700_000_000,
  };
}

function symbolRecord(checksum: number): SymbolRecord {
  return { checksum, storedBytes: 3, symbolCount: 1, failedCount: 0, producer: "ctags" };
}

/** All that a catalog has, without the numbers that a host gives its shards. */
export function printCatalog(catalog: Catalog): string[] {
  const shardLine = ({ record: { id: _, ...record }, tombstones }: LiveShard): string =>
    `${JSON.stringify(sorted(record))} ${[...(tombstones ?? [])].join()}`;
  return [
    ...[...catalog.repositories()].map((repository) => JSON.stringify(sorted(repository))).sort(),
    ...catalog.shards().map(shardLine).sort(),
    ...[...catalog.historyShards()].map(({ id: _, ...record }) => JSON.stringify(sorted(record))).sort(),
  ];
}

/** Without members that are undefined, which a stored record does not have. */
function sorted(record: object): object {
  return Object.fromEntries(
    Object.entries(record)
      .filter(([, value]) => value !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}

/** A random change of the catalog as it is, of each kind that there is. */
export function randomChange(catalog: Catalog, random: (below: number) => number): CatalogChange {
  const repositories = [...catalog.repositories()];
  const shards = [...catalog.shards()];
  const one = <T>(list: readonly T[]): T | undefined => list[random(list.length)];
  const some = (shard: LiveShard): number[] =>
    [random(documentCount), random(documentCount)].slice(shard.record.id % 2);
  const [repository, shard, history] = [one(repositories), one(shards), one([...catalog.historyShards()])];
  switch (random(9)) {
    case 0:
    case 1: {
      const config = testRepository(0, `host/r${random(1_000_000)}`, { stars: random(9) });
      return { repositories: [catalog.newRepository(config, random(2) === 0)] };
    }
    case 2:
      return repository === undefined || random(3) > 0 ? {} : { removedRepositoryIds: [repository.id] };
    case 3:
    case 4: {
      const added = repositories.slice(0, 1 + random(3)).map(({ id }) => id);
      const removed = shard === undefined || random(2) === 0 ? [] : [shard.record.id];
      return { addedShards: [testShardRecord(catalog.nextShardId, added)], removedShardIds: removed };
    }
    case 5:
      return shard === undefined ? {} : { tombstones: new Map([[shard.record.id, some(shard)]]) };
    case 6:
      if (shard === undefined) return {};
      return random(2) === 0
        ? { hidden: new Map([[shard.record.id, shard.record.repositoryIds.slice(0, 1)]]) }
        : { symbols: new Map([[shard.record.id, random(3) === 0 ? undefined : symbolRecord(random(1_000))]]) };
    case 7:
      return repository === undefined
        ? {}
        : {
            addedHistory: [testHistoryRecord(catalog.nextShardId, repository.id)],
            removedHistoryIds: history === undefined || random(2) === 0 ? [] : [history.id],
          };
    default:
      return repository === undefined
        ? {}
        : { repositories: [{ ...repository, generation: repository.generation + 1, readers: ["ann"], private: true }] };
  }
}

/** Runs the contract on what `open` opens, empty each time. */
export function testManifest(t: Test, name: string, open: (t: Test) => Promise<ManifestSite>): void {
  const repositoryNames = (catalog: Catalog): string[] => [...catalog.repositories()].map((one) => one.name).sort();
  const add =
    ({ catalog }: ManifestSite, repositoryName: string) =>
    (): { readonly repositories: readonly [ReturnType<Catalog["newRepository"]>] } => ({
      repositories: [catalog.newRepository(testRepository(0, repositoryName), false)],
    });

  void t.test(`${name}: a change is visible when it is made, and is there after a new start`, async (t) => {
    const site = await open(t);
    const { repositories } = await site.manifest.publish(add(site, "host/a"));
    t.equal(site.catalog.repository(repositories[0].id)?.name, "host/a");
    t.equal(site.catalog.position.version, 1);
    const shards = [testShardRecord(site.catalog.nextShardId, [repositories[0].id])];
    await site.manifest.publish(() => ({ addedShards: shards }));
    const next = await site.reopened();
    t.strictSame(printCatalog(next.catalog), printCatalog(site.catalog));
    t.strictSame(next.catalog.position, site.catalog.position, "it knows which flips it has");
  });

  void t.test(`${name}: changes are made in the order of the calls, each on what the earlier ones left`, async (t) => {
    const site = await open(t);
    const seen: number[] = [];
    await Promise.all(
      [...Array(12).keys()].map((i) =>
        site.manifest.publish(async () => {
          await new Promise((resolve) => setImmediate(resolve));
          seen.push(site.catalog.repositoryCount);
          return add(site, `host/${i}`)();
        }),
      ),
    );
    t.strictSame(seen, [...Array(12).keys()]);
    t.equal(site.catalog.position.version, 12);
  });

  void t.test(`${name}: a change that fails leaves nothing, and those after it are made`, async (t) => {
    const site = await open(t);
    const before = site.manifest.publish(add(site, "host/a"));
    const failing = site.manifest.publish(() => {
      throw new RangeError("no such change");
    });
    const impossible = site.manifest.publish(async () => ({
      ...add(site, "host/x")(),
      tombstones: new Map([[site.catalog.nextShardId, [documentCount]]]),
      addedShards: await Promise.reject<readonly ShardRecord[]>(new RangeError("no such shard")),
    }));
    const after = site.manifest.publish(add(site, "host/b"));
    await t.rejects(failing, /no such change/);
    await t.rejects(impossible, /no such shard/);
    await Promise.all([before, after]);
    t.strictSame(repositoryNames(site.catalog), ["host/a", "host/b"]);
    t.equal(site.catalog.position.version, 2);
    t.strictSame(repositoryNames((await site.reopened()).catalog), ["host/a", "host/b"]);
  });

  void t.test(`${name}: each flip has an id of its own, and a change that writes nothing is none`, async (t) => {
    const site = await open(t);
    const ids = new Set<string>();
    const { repositories } = await site.manifest.publish(add(site, "host/a"));
    ids.add(site.catalog.position.flipId);
    await site.manifest.publish(() => ({}));
    await site.manifest.publish(() => ({
      repositories: [],
      removedShardIds: [99],
      symbols: new Map([[99, undefined]]),
    }));
    t.equal(site.catalog.position.version, 1);
    t.ok(ids.has(site.catalog.position.flipId));
    await site.manifest.publish(() => ({ repositories: [{ ...repositories[0], stars: 3 }] }));
    ids.add(site.catalog.position.flipId);
    t.equal(ids.size, 2);
    t.equal(site.catalog.position.version, 2);
  });

  void t.test(`${name}: ids of repositories are not used again`, async (t) => {
    const site = await open(t);
    const { repositories } = await site.manifest.publish(add(site, "host/a"));
    await site.manifest.publish(() => ({ removedRepositoryIds: [repositories[0].id] }));
    const next = await site.reopened();
    const again = await next.manifest.publish(add(next, "host/a"));
    t.not(again.repositories[0].id, repositories[0].id);
  });

  void t.test(`${name}: a search has all of a change or nothing of it`, async (t) => {
    const site = await open(t);
    const { repositories } = await site.manifest.publish(add(site, "host/a"));
    const first = site.catalog.nextShardId;
    await site.manifest.publish(() => ({ addedShards: [testShardRecord(first, [repositories[0].id])] }));
    const retired: number[] = [];
    site.catalog.onRetired = (ids) => void retired.push(...ids);
    const view = site.catalog.view();
    const shard = testShardRecord(site.catalog.nextShardId, [repositories[0].id]);
    const done = site.manifest.publish(() => ({
      addedShards: [shard],
      removedShardIds: [first],
      repositories: [{ ...repositories[0], generation: 7 }],
    }));
    const seen = new Set<string>();
    const look = (): void => {
      const generation = site.catalog.repository(repositories[0].id)?.generation;
      seen.add(`${site.catalog.shards().map(({ record }) => record.id)} ${generation}`);
    };
    let isDone = false;
    void done.finally(() => {
      isDone = true;
    });
    while (!isDone) {
      look();
      await new Promise((resolve) => setImmediate(resolve));
    }
    look();
    t.strictSame([...seen], [`${first} 0`, `${shard.id} 7`]);
    t.strictSame(
      view.shards.map(({ record }) => record.id),
      [first],
      "a running search keeps its view",
    );
    t.strictSame(retired, []);
    view.release();
    t.strictSame(retired, [first]);
  });

  void t.test(`${name}: any sequence of changes`, async (t) => {
    const site = await open(t);
    const random = randomFrom(5);
    let [last, written] = [printCatalog(site.catalog).join("\n"), 0];
    for (let i = 0; i < 120; i++) {
      await site.manifest.publish(() => randomChange(site.catalog, random));
      const now = printCatalog(site.catalog).join("\n");
      if (now !== last) written++;
      last = now;
    }
    t.ok(written > 60, `${written} changes`);
    t.ok(site.catalog.position.version >= written);
    const next = await site.reopened();
    t.strictSame(printCatalog(next.catalog), printCatalog(site.catalog));
    t.equal(next.catalog.position.version, site.catalog.position.version);
  });
}
