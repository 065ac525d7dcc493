/** The bits of branches; and that old documents, less the dead ones, with the new entries are the trees of the branches. */
import assert from "node:assert/strict";
import { copyFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { setBit, hasBit } from "../../../src/base/bits.js";
import { neverStop } from "../../../src/base/stop-signal.js";
import { assignBranchBits, findDelta, type Delta } from "../../../src/indexer/index-changes.js";
import { entriesOfBranches } from "../../../src/indexer/index-repository.js";
import { attributeRulesMax } from "../../../src/indexer/rules/commit-rules.js";
import { rulesOfDocument } from "../../../src/indexer/rules/path-rules.js";
import { skipReasons } from "../../../src/model/skip-reason.js";
import type { IndexedBranch } from "../../../src/model/repository.js";
import { loadKernel } from "../../../src/native/kernel/load.js";
import { ShardBuilder } from "../../../src/shard/shard-builder.js";
import { unpackSkipCode } from "../../../src/shard/format.js";
import { ShardReader } from "../../../src/shard/shard-reader.js";
import { ShardStore } from "../../../src/store/shard-store.js";
import type { FixtureFile, GitFixture } from "../../support/git-fixture.js";
import { fixture } from "../../support/git-mirror.js";
import { fc, runs, seed } from "../../support/property.js";
import { randomFrom } from "../../support/random.js";

type Branches = Readonly<Record<string, string>>;

/** `name:bit` for each branch. */
function assign(old: readonly string[], wanted: Branches): string | undefined {
  const indexed = old.map((text) => {
    const [name = "", bit, commit = ""] = text.split(":");
    return { name, bit: Number(bit), commit };
  });
  return assignBranchBits(indexed, new Map(Object.entries(wanted)))
    ?.map(({ name, bit }) => `${name}:${bit}`)
    .join(" ");
}

t.test("which bit a branch gets", async (t) => {
  t.equal(assign(["main:0:a", "dev:1:b"], { dev: "c", main: "d" }), "dev:1 main:0", "an indexed branch keeps its bit");
  t.equal(assign(["main:0:a", "dev:1:b"], { main: "a" }), "main:0", "a removed branch frees its bit");
  t.equal(assign(["main:0:a", "dev:1:b"], { main: "a", topic: "c" }), "main:0 topic:1");
  t.equal(
    assign(["a:0:1", "b:1:2", "c:2:3"], { x: "3", y: "9" }),
    "x:2 y:0",
    "a renamed branch gets that of its commit",
  );
  t.equal(assign(["main:0:a"], { main: "a", topic: "b" }), undefined, "no bit is free");
});

t.test("bits are distinct, and those of branches that stay are kept", async (t) => {
  const name = fc.constantFrom("a", "b", "c", "d", "e", "f");
  const commit = fc.constantFrom("1", "2", "3");
  const branch = fc.record({ name, commit });
  const branches = fc.uniqueArray(branch, { selector: (one) => one.name });
  fc.assert(
    fc.property(branches, branches, (before, after) => {
      const old = before.map((one, i) => ({ ...one, bit: 3 * i }));
      const wanted = new Map(after.map((one) => [one.name, one.commit]));
      const assigned = assignBranchBits(old, wanted);
      assert.equal(assigned === undefined, after.length > before.length, "there is a bit for each, or there is none");
      if (assigned === undefined) return;
      assert.deepEqual(new Map(assigned.map((one) => [one.name, one.commit])), wanted);
      assert.equal(new Set(assigned.map(({ bit }) => bit)).size, assigned.length);
      for (const { name: kept, bit } of assigned) {
        assert.ok(old.some((one) => one.bit === bit));
        const known = old.find((one) => one.name === kept);
        if (known !== undefined) assert.equal(bit, known.bit);
      }
    }),
    { numRuns: runs(300) },
  );
  t.pass();
});

const repositoryId = 5;
const kernel = loadKernel("ts");

/** The shards of one repository as a real store has them, and the branches that they hold. */
class Index {
  readonly #store: ShardStore;
  readonly #readers = new Map<number, { readonly reader: ShardReader; readonly tombstones: Uint32Array }>();
  branches: readonly IndexedBranch[] = [];
  /** Oids of blobs that the mirror lacks. */
  readonly missing = new Set<string>();

  constructor(store: ShardStore) {
    this.#store = store;
  }

  /** Adds a shard with these documents; the text of each is its oid. */
  async add(entries: Delta["entries"]): Promise<void> {
    if (entries.length === 0) return;
    const builder = new ShardBuilder(kernel, undefined);
    for (const { path, oid, isFile, rules, branchMask } of entries) {
      const document = { repositoryId, path, branchMask, oid, language: rules.language, flags: rules.flags };
      if (isFile && rules.isIgnored) builder.addSkipped({ ...document, skipReason: "ignored" });
      else if (isFile && this.missing.has(oid)) builder.addSkipped({ ...document, skipReason: "missing" });
      else if (isFile)
        builder.addDocument(builder.addContent(oid, Buffer.from(oid)), { ...document, skipReason: "none" });
      else builder.addSkipped({ ...document, skipReason: "not-regular" });
    }
    const bytes = builder.build((byteCount) => Buffer.alloc(byteCount));
    const id = this.#readers.size + 1;
    await this.#store.put([{ id, bytes }]);
    const reader = new ShardReader(id, bytes);
    this.#readers.set(id, { reader, tombstones: new Uint32Array(Math.ceil(reader.documentCount / 32)) });
  }

  async update(mirror: string, wanted: readonly IndexedBranch[]): Promise<Delta> {
    const shards = [...this.#readers].map(([id, { reader, tombstones }]) => ({
      id,
      checksum: reader.checksum,
      tombstones,
    }));
    const snapshot = this.#store.read();
    const verify = (reader: ShardReader): void => reader.verify("index");
    const delta = await findDelta(mirror, repositoryId, this.branches, wanted, shards, snapshot, verify, neverStop);
    snapshot.close();
    for (const [id, documents] of delta.tombstones) {
      const { tombstones } = this.#readers.get(id)!;
      for (const document of documents) {
        assert.ok(!hasBit(tombstones, document), "a document dies once");
        setBit(tombstones, document);
      }
    }
    await this.add(delta.entries);
    this.branches = wanted;
    return delta;
  }

  /** `path oid`, with "!" for what is no file, and its rules, for each living document on the branch; sorted. */
  documentsOn(bit: number): string[] {
    return [...this.#readers.values()]
      .flatMap(({ reader, tombstones }) =>
        Array.from({ length: reader.documentCount }, (_, document) => {
          if (hasBit(tombstones, document) || (reader.documentBranches[document]! & (1 << bit)) === 0) return [];
          const isFile = unpackSkipCode(reader.documentInfo[document]!) !== skipReasons["not-regular"].code;
          const rules = rulesOfDocument(reader, document);
          const path = reader.path(document).toString();
          return [`${path} ${reader.oid(document)}${isFile ? "" : "!"}${rules.key && ` ${rules.key}`}`];
        }).flat(),
      )
      .sort();
  }
}

/** The files of a commit in the same form, as they are indexed without anything to compare with. */
async function treeOf(mirror: string, commit: string): Promise<string[]> {
  const { entries } = await entriesOfBranches(mirror, [{ name: "main", bit: 0, commit }], neverStop);
  return entries
    .map(
      ({ path, oid, isFile, rules }) => `${path.toString()} ${oid}${isFile ? "" : "!"}${rules.key && ` ${rules.key}`}`,
    )
    .sort();
}

async function comparedIndex(
  t: Test,
  source: GitFixture,
  branches: readonly IndexedBranch[],
  missing: readonly string[] = [],
): Promise<Index> {
  const store = new ShardStore(join(t.testdir({ shards: {} }), "shards"));
  t.teardown(() => store.close());
  const index = new Index(store);
  for (const oid of missing) index.missing.add(oid);
  const { entries } = await entriesOfBranches(source.path, branches, neverStop);
  await index.add([...entries]);
  index.branches = branches;
  return index;
}

/** The branches of the fixture, with the bits that they get. */
function wantedBranches(source: GitFixture, old: readonly IndexedBranch[]): IndexedBranch[] {
  const lines = source.git("for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads").split("\n");
  const wanted = new Map(lines.map((line): [string, string] => [line.split(" ")[0]!, line.split(" ")[1]!]));
  return assignBranchBits(old, wanted) ?? [];
}

/** Its bytes are those of a file. */
const link: FixtureFile = { symlink: "one" };
const choices: readonly FixtureFile[] = ["one", "two", "three", link, { deleted: true }, { executable: "one" }];

const tooManyLines = "* linguist-vendored\n".repeat(attributeRulesMax + 1);

/** Files with rules, and what they may say. */
const ruleChoices: readonly (readonly [path: string, text: FixtureFile])[] = [
  [".gitattributes", "* linguist-language=Go\n/a linguist-vendored\n"],
  [".gitattributes", "[attr]made linguist-generated linguist-language=C++\ndir/* made\n"],
  [".gitattributes", { deleted: true }],
  ["dir/.gitattributes", "c -linguist-generated !linguist-language\n"],
  ["dir/.gitattributes", "d made\n"],
  ["dir/.gitattributes", tooManyLines],
  ["dir/.gitattributes", { deleted: true }],
  ["dir/.gitattributes", link],
  [".sourcegraph/ignore", "dir\n"],
  [".sourcegraph/ignore", "*\n"],
  [".sourcegraph/ignore", { deleted: true }],
];

t.test("after each of many changes the documents of every branch are those of its tree", async (t) => {
  const next = randomFrom(seed);
  const source = fixture(t);
  const paths = ["a", "b", "dir/c", "dir/d", "e"];
  const names = ["main", "dev", "topic"];
  for (const branch of names) source.commit({ branch, files: { a: "one", b: branch, "dir/c": "same" } });
  const first = names.map((name, bit) => ({ name, bit, commit: source.git("rev-parse", name) }));
  const index = await comparedIndex(t, source, first);
  for (let round = 0; round < runs(100); round++) {
    const branches = index.branches.map(({ name }) => name);
    for (const branch of branches.filter(() => next(3) > 0)) {
      const changed = Array.from({ length: 1 + next(2) }, () => paths[next(paths.length)]!);
      const files = Object.fromEntries(changed.map((path) => [path, choices[next(choices.length)]!]));
      const [ruled, said] = ruleChoices[next(ruleChoices.length)]!;
      const rules = next(2) === 0 ? {} : { [ruled]: said };
      source.commit({ branch, files: { ...files, ...rules, kept: "x" }, orphan: next(6) === 0 });
    }
    // Sometimes one branch is renamed, or replaced by a copy of another.
    const [target = "main", other = "main"] = [branches[next(3)], branches[next(3)]];
    if (next(2) === 0) {
      source.updateRef(`refs/heads/new-${round}`, source.git("rev-parse", next(2) === 0 ? target : other));
      source.deleteBranch(target);
    }
    const wanted = wantedBranches(source, index.branches);
    await index.update(source.path, wanted);
    for (const { name, bit, commit } of wanted)
      t.same(index.documentsOn(bit), await treeOf(source.path, commit), `round ${round}, ${name}`);
  }
});

t.test("a changed file with rules touches the files for which it changes them", async (t) => {
  const source = fixture(t);
  const files = { "a.c": "one", "dir/b.c": "two", "dir/c.go": "three", "directory/d.c": "four" };
  const before = source.commit({ branch: "main", files: { ...files, "dir/.gitattributes": "*.c linguist-vendored" } });
  const index = await comparedIndex(t, source, [{ name: "main", bit: 0, commit: before }]);
  const touched = async (changes: Record<string, FixtureFile>): Promise<string[]> => {
    const commit = source.commit({ branch: "main", files: changes });
    const delta = await index.update(source.path, [{ name: "main", bit: 0, commit }]);
    t.same(index.documentsOn(0), await treeOf(source.path, commit));
    return delta.entries.map(({ path, rules }) => `${path.toString()} ${rules.key}`).sort();
  };
  t.same(await touched({ "dir/.gitattributes": "*.c linguist-vendored linguist-language=C++" }), [
    "dir/.gitattributes ",
    "dir/b.c 11:C%2B%2B",
  ]);
  t.same(await touched({ "dir/.gitattributes": "# more\n*.c linguist-language=cpp linguist-vendored" }), [
    "dir/.gitattributes ",
  ]);
  t.same(await touched({ ".sourcegraph/ignore": "dir/b*" }), [".sourcegraph/ignore ", "dir/b.c 11i:C%2B%2B"]);
  t.same(
    await touched({ "dir/b.c": "changed" }),
    ["dir/b.c 11i:C%2B%2B"],
    "which files have rules is known from shards",
  );
  t.same(
    await touched({ ".sourcegraph/ignore": "dir/b" }),
    [".sourcegraph/ignore "],
    "it says the same in another way",
  );
});

t.test("a limit turns the attributes of the whole commit off and on", async (t) => {
  const source = fixture(t);
  const files = { "a/.gitattributes": "*.c linguist-generated", "a/f.c": "one", "b/g.c": "two" };
  const before = source.commit({ branch: "main", files });
  const index = await comparedIndex(t, source, [{ name: "main", bit: 0, commit: before }]);
  for (const text of [tooManyLines, "*.c linguist-vendored", tooManyLines, { deleted: true as const }]) {
    const commit = source.commit({ branch: "main", files: { "b/.gitattributes": text } });
    const delta = await index.update(source.path, [{ name: "main", bit: 0, commit }]);
    t.same(index.documentsOn(0), await treeOf(source.path, commit));
    t.ok(delta.entries.some(({ path }) => path.toString() === "a/f.c"));
  }
});

t.test("what a mirror lacked of the rules is found out again", async (t) => {
  const source = fixture(t);
  const files = { ".gitattributes": "*.c linguist-language=Zig", ".sourcegraph/ignore": "b", "a.c": "one", b: "two" };
  const before = source.commit({ branch: "main", files });
  const lost = ["main:.gitattributes", "main:.sourcegraph/ignore"].map((name) => source.git("rev-parse", name));
  const objectFile = (oid: string): string => join(source.path, "objects", oid.slice(0, 2), oid.slice(2));
  for (const oid of lost) {
    copyFileSync(objectFile(oid), source.sibling(oid));
    rmSync(objectFile(oid));
  }
  const index = await comparedIndex(t, source, [{ name: "main", bit: 0, commit: before }], lost);
  t.notOk(
    index.documentsOn(0).some((text) => text.split(" ").length > 2),
    "there are no rules",
  );
  for (const oid of lost) copyFileSync(source.sibling(oid), objectFile(oid));
  const commit = source.commit({ branch: "main", files: { c: "three" } });
  await index.update(source.path, [{ name: "main", bit: 0, commit }]);
  const documents = index.documentsOn(0);
  t.same(documents, await treeOf(source.path, commit));
  t.equal(documents.filter((text) => text.split(" ").length > 2).length, 2, "a.c and b have rules");
});

t.test("only changed paths are touched, and what they subtract is counted", async (t) => {
  const source = fixture(t);
  const before = source.commit({ branch: "main", files: { a: "one", b: "two", l: link, "dir/c": "same" } });
  const index = await comparedIndex(t, source, [{ name: "main", bit: 0, commit: before }]);
  const after = source.commit({
    branch: "main",
    files: { a: "three", b: { executable: "two" }, l: { deleted: true } },
  });
  const delta = await index.update(source.path, [{ name: "main", bit: 0, commit: after }]);
  t.equal(delta.changedPathCount, 3);
  t.same(
    delta.entries.map(({ path, isFile, branchMask }) => [path.toString(), isFile, branchMask]),
    [["a", true, 1]],
    "a file that only became executable is the same document",
  );
  t.equal([...delta.tombstones.values()].flat().length, 2);
  t.same(delta.dead, { documentCount: 2, contentBytes: 40, skippedCounts: { "not-regular": 1 } });
  const same = await index.update(source.path, index.branches);
  t.same([same.changedPathCount, same.entries, same.tombstones.size], [0, [], 0], "without a change there is nothing");
});

t.test("a document that is only on a removed branch dies, one that is elsewhere lives", async (t) => {
  const source = fixture(t);
  const main = source.commit({ branch: "main", files: { a: "one" } });
  source.updateRef("refs/heads/dev", main);
  const dev = source.commit({ branch: "dev", files: { own: "dev" } });
  const both = [
    { name: "main", bit: 0, commit: main },
    { name: "dev", bit: 1, commit: dev },
  ];
  const index = await comparedIndex(t, source, both);
  const delta = await index.update(source.path, both.slice(0, 1));
  t.equal(delta.dead.documentCount, 1);
  t.same(index.documentsOn(0), await treeOf(source.path, main));
  t.same(
    index.documentsOn(1).map((text) => text.split(" ")[0]),
    ["a"],
    "the mask of the other is not rewritten",
  );
  const changed = source.commit({ branch: "main", files: { a: "two" } });
  const later = await index.update(source.path, [{ name: "main", bit: 0, commit: changed }]);
  t.same(
    later.entries.map(({ path, branchMask }) => [path.toString(), branchMask]),
    [["a", 1]],
    "the old document is not added again for the removed branch",
  );
});
