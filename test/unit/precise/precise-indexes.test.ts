/** Uploads of indexes: who may send their parts, which indexes are kept, and that deleted ones leave no files. */
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { silentLog } from "../../../src/base/log.js";
import type { PreciseIndexRecord } from "../../../src/model/precise-index.js";
import type { Repository } from "../../../src/model/repository.js";
import {
  type PreciseEnvironment,
  PreciseIndexes,
  type PreciseLimits,
  type UploadDescription,
} from "../../../src/precise/precise-indexes.js";
import { PreciseStore } from "../../../src/precise/precise-store.js";
import { RecordStore } from "../../../src/store/record-store.js";

const described: UploadDescription = {
  repositoryId: 1,
  commit: "a".repeat(40),
  root: "",
  indexer: "",
  indexerVersion: "",
  uploaderId: 7,
  partCount: 0,
};

/** Makes indexes of this size; the tool has a name. */
function building(storedBytes: number): PreciseEnvironment["build"] {
  return async ({ target }) => {
    writeFileSync(target, "an index");
    const counts = { documentCount: 1, symbolCount: 1, occurrenceCount: 1, storedBytes };
    const leftOut = { missingCount: 0, unfitCount: 0, outsideCount: 0 };
    return { kind: "built", toolName: "tool", toolVersion: "1", ...counts, ...leftOut };
  };
}

class Site {
  readonly folder: string;
  readonly store: RecordStore;

  constructor(t: Test) {
    this.folder = t.testdir({});
    this.store = new RecordStore(join(this.folder, "catalog"));
    t.teardown(() => this.store.close());
  }

  /** Opens it as a start of the daemon does. */
  async start(changed: Partial<PreciseEnvironment> = {}, limits: Partial<PreciseLimits> = {}): Promise<PreciseIndexes> {
    const indexes = this.load(changed, limits);
    await indexes.start();
    return indexes;
  }

  /** Without a look at the files. */
  load(changed: Partial<PreciseEnvironment> = {}, limits: Partial<PreciseLimits> = {}): PreciseIndexes {
    const indexes = new PreciseIndexes({
      dataFolder: this.folder,
      store: this.store,
      repository: () => ({ id: 1, name: "site/code" }) as Repository,
      bringCommit: async () => true,
      build: building(40),
      log: silentLog(),
      limits: { uploadBytesMax: 100, indexBytesMax: 100, totalBytesMax: 1_000, keptMax: 10, ...limits },
      ...changed,
    });
    for (const step of indexes.load()) void step;
    return indexes;
  }

  get files(): string[] {
    return readdirSync(join(this.folder, "precise")).sort();
  }
}

async function upload(indexes: PreciseIndexes, changed: Partial<UploadDescription> = {}): Promise<PreciseIndexRecord> {
  const record = await indexes.begin({ ...described, ...changed });
  const part = await indexes.openPart(record, 0);
  await part.write(Buffer.from("an upload"));
  await part.finish();
  return indexes.finish(record);
}

const commit = (digit: string): string => digit.repeat(40);
const commits = (indexes: PreciseIndexes): string[] =>
  indexes.list(1).flatMap(({ state, commit }) => (state === "COMPLETED" ? [commit.slice(0, 1)] : []));

t.test("only who began an upload in parts, or a site admin, continues it", async (t) => {
  const indexes = await new Site(t).start();
  const { id } = await indexes.begin({ ...described, partCount: 2 });
  t.equal(indexes.requireUploading(id, { userId: 7, isSiteAdmin: false }).id, id);
  t.equal(indexes.requireUploading(id, { userId: 8, isSiteAdmin: true }).id, id);
  t.throws(() => indexes.requireUploading(id, { userId: 8, isSiteAdmin: false }), { code: "not-found" });
  const whole = await indexes.begin(described);
  t.throws(() => indexes.requireUploading(whole.id, { userId: 7, isSiteAdmin: true }), { code: "not-found" });
});

t.test("an upload ends once, and what arrives later leaves nothing", async (t) => {
  const site = new Site(t);
  const indexes = await site.start();
  const record = await indexes.begin({ ...described, partCount: 1 });
  const cut = await indexes.openPart(record, 0);
  await cut.write(Buffer.from("an upl"));
  await t.rejects(indexes.finish(record), /part 0 of 1 .* is missing/, "it has not arrived");
  await cut.discard();
  t.same(site.files, []);
  const part = await indexes.openPart(record, 0);
  const late = await indexes.openPart(record, 0);
  await part.finish();
  const ends = await Promise.allSettled([indexes.finish(record), indexes.finish(record)]);
  t.match(ends, [
    { status: "fulfilled", value: { state: "COMPLETED" } },
    { status: "rejected", reason: { code: "not-found" } },
  ]);
  await t.rejects(late.write(Buffer.from("x")), { code: "not-found" });
  await t.rejects(late.finish(), { code: "not-found" });
  await late.discard();
  t.same(site.files, [`${record.id}.index`]);
  t.equal(indexes.get(record.id)?.state, "COMPLETED");
});

t.test("older indexes make room only if that suffices", async (t) => {
  const indexes = await new Site(t).start({}, { totalBytesMax: 100 });
  for (const digit of ["1", "2"]) await upload(indexes, { commit: commit(digit) });
  t.match(await upload(indexes, { root: "a/", commit: commit("3") }), { state: "ERRORED", failure: /no room/ });
  t.same(commits(indexes), ["2", "1"]);
  t.match(await upload(indexes, { commit: commit("4") }), { state: "COMPLETED", indexer: "tool" });
  t.same(commits(indexes), ["4", "2"]);
  const other = new Site(t);
  const before = await other.start({}, { totalBytesMax: 100 });
  await upload(before);
  const after = await other.start({ build: building(101) }, { totalBytesMax: 100 });
  t.match(await upload(after, { commit: commit("5") }), { state: "ERRORED", failure: /no room/ });
  t.same(commits(after), ["a"]);
});

t.test("an index during which the daemon ended twice is given up", async (t) => {
  const site = new Site(t);
  /** Starts, and reads an index for ever. */
  const crash = async (): Promise<PreciseIndexes> => {
    let indexes: PreciseIndexes | undefined;
    await new Promise<void>((begun, failed) => {
      const endless = (): Promise<never> => {
        begun();
        return new Promise(() => undefined);
      };
      const start = async (): Promise<void> => {
        indexes = await site.start({ build: endless });
        if (indexes.list(1).length === 0) await upload(indexes);
      };
      start().catch(failed);
    });
    if (indexes === undefined) throw new RangeError("it has started");
    return indexes;
  };
  await crash();
  t.match((await crash()).list(1), [{ state: "PROCESSING", isRetried: true }]);
  t.match((await site.start()).list(1), [{ state: "ERRORED", failure: /ended twice/ }]);
});

t.test("a record that is deleted while it is written does not come back", async (t) => {
  const site = new Site(t);
  const store = new PreciseStore(site.store);
  const record: PreciseIndexRecord = {
    ...described,
    id: store.newId(),
    state: "UPLOADING",
    failure: "",
    uploadedAt: "",
    startedAt: "",
    endedAt: "",
    uploadBytes: 0,
    counts: undefined,
  };
  await store.add(record);
  await Promise.all([store.put({ ...record, state: "QUEUED" }), store.remove([record.id])]);
  await store.put({ ...record, state: "PROCESSING" });
  t.equal(store.get(record.id), undefined);
  const stored = new PreciseStore(site.store);
  for (const step of stored.load()) void step;
  t.equal(stored.get(record.id), undefined);
});

t.test("an upload whose repository goes in the same moment is not begun", async (t) => {
  const site = new Site(t);
  let isThere = true;
  const repository: PreciseEnvironment["repository"] = () => (isThere ? ({ id: 1 } as Repository) : undefined);
  const indexes = await site.start({ repository });
  const begun = indexes.begin(described);
  isThere = false;
  await t.rejects(begun, { code: "not-found" });
  t.same(indexes.list(1), []);
});

/** A record of an index that defines symbols of some packages. */
function completed(id: number, repositoryId: number, defined: readonly number[], used: readonly number[] = []) {
  const sizes = { documentCount: 1, symbolCount: 1, occurrenceCount: 1, storedBytes: 1 };
  const leftOut = { missingCount: 0, unfitCount: 0, outsideCount: 0 };
  const counts = { ...sizes, ...leftOut, packages: { defined, used } };
  const times = { uploadedAt: "", startedAt: "", endedAt: "" };
  const record = { ...described, ...times, id, repositoryId, state: "COMPLETED" as const, failure: "" };
  return { ...record, uploadBytes: 0, counts } satisfies PreciseIndexRecord;
}

const idsFor = (store: PreciseStore, packages: readonly number[], definingOnly: boolean): number[] =>
  [...store.forPackages(packages, definingOnly)].map(({ id }) => id);

t.test("indexes with a package are listed newest first, once, after a restart as well", async (t) => {
  const site = new Site(t);
  const store = new PreciseStore(site.store);
  for (const id of [2, 10, 3]) await store.add(completed(id, id, [7, id], [8]));
  await store.add(completed(4, 4, [8], [7]));
  const restarted = new PreciseStore(site.store);
  for (const step of restarted.load()) void step;
  for (const one of [store, restarted]) {
    t.same(idsFor(one, [7], true), [10, 3, 2]);
    t.same(idsFor(one, [7, 8], false), [10, 4, 3, 2]);
    t.same(idsFor(one, [9], false), []);
  }
  await store.remove([3, 10]);
  t.same(idsFor(store, [7, 3, 10], true), [2]);
});

t.test("the packages of a repository are bounded: its newest indexes are found", async (t) => {
  const store = new PreciseStore(new Site(t).store);
  const packages = Array.from({ length: 15_000 }, (_, i) => i);
  for (const id of [1, 2, 3]) await store.add(completed(id, 1, packages));
  t.same(idsFor(store, [5], true), [3, 2]);
  await store.remove([3]);
  t.same(idsFor(store, [5], true), [2, 1], "and older ones when there is room");
});

t.test("a question about packages looks at so many indexes, and at no more than it needs", async (t) => {
  const site = new Site(t);
  const count = 5_001;
  const records = Array.from({ length: count }, (_, i) => completed(i + 1, i + 1, [7]));
  const stored = records.map((record) => ({
    key: `precise-index/${record.id}`,
    value: Buffer.from(JSON.stringify(record)),
  }));
  await site.store.apply(stored);
  const indexes = site.load();
  let asked = 0;
  const ask = (isWanted: (id: number) => boolean, countMax: number) => {
    const isCounted = (id: number): boolean => {
      asked++;
      return isWanted(id);
    };
    return indexes.inPackages([7], true, isCounted, countMax);
  };
  const few = ask(() => true, 2);
  t.same([...few.candidates.keys()], [count, count - 1]);
  t.match({ asked, limitHit: few.limitHit }, { asked: 3, limitHit: true });
  const last = ask((id) => id === 1, 2);
  t.same(last, { candidates: new Map(), limitHit: true });
  t.same([...ask((id) => id === 2, 2).candidates.keys()], [2]);
});
