/** Commits that are not indexed have the documents of their trees, each with the rules of its commit. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { neverStop } from "../../../src/base/stop-signal.js";
import { LfsContents, listLfsContents } from "../../../src/git/lfs/lfs-contents.js";
import { type Entry, entriesOfBranches } from "../../../src/indexer/index-repository.js";
import { attributeRulesMax } from "../../../src/indexer/rules/commit-rules.js";
import { makeRules, rulesOfDocument } from "../../../src/indexer/rules/path-rules.js";
import { type IndexedBranch, mirrorName, mirrorsFolder } from "../../../src/model/repository.js";
import { skipReasons } from "../../../src/model/skip-reason.js";
import { loadKernel } from "../../../src/native/kernel/load.js";
import { unpackSkipCode } from "../../../src/shard/format.js";
import { ShardBuilder } from "../../../src/shard/shard-builder.js";
import { ReaderCache, ShardReader } from "../../../src/shard/shard-reader.js";
import { ShardStore } from "../../../src/store/shard-store.js";
import { answerKeepDocuments } from "../../../src/worker/read/cache-documents.js";
import type { ReadContext } from "../../../src/worker/read/context.js";
import { answerFindDocuments } from "../../../src/worker/read/find-documents.js";
import type { FixtureFile, GitFixture } from "../../support/git-fixture.js";
import { fixture } from "../../support/git-mirror.js";
import { pointer } from "../../support/lfs-server.js";
import { runs, seed } from "../../support/property.js";
import { randomFrom } from "../../support/random.js";
import { removeFolder } from "../../support/remove-folder.js";

const repositoryId = 7;
const kernel = loadKernel("ts");
const limits = { fileBytesMax: 200_000, largeFiles: [], trigramCountMax: 5_000 };

/** `path oid`, with "!" for what is no file and "?" for a pointer without contents, and its rules. */
function print(path: Buffer, oid: string, isFile: boolean, isLeftOut: boolean, key: string): string {
  return `${path.toString()} ${oid}${isFile ? "" : "!"}${isLeftOut ? "?" : ""}${key && ` ${key}`}`;
}

function printDocument(reader: ShardReader, document: number): string {
  const code = unpackSkipCode(reader.documentInfo[document]!);
  const [isFile, isLeftOut] = [code !== skipReasons["not-regular"].code, code === skipReasons.lfs.code];
  const path = Buffer.from(reader.path(document));
  return print(path, reader.oid(document), isFile, isLeftOut, rulesOfDocument(reader, document).key);
}

const pointerTexts = ["first", "second"].map(pointer);
const pointers: ReadonlySet<string> = new Set(
  pointerTexts.map((text) => createHash("sha1").update(`blob ${text.length}\0${text}`).digest("hex")),
);
const isLeftOut = ({ oid, rules, mayBePointer }: Entry): boolean =>
  mayBePointer && !rules.isIgnored && pointers.has(oid);

/** A list of contents of Git LFS with nothing in it, so that the attributes of each commit decide about each pointer. */
const unlisted = new LfsContents("", new Map(), new Set(), false);

async function treeOf({ path }: GitFixture, commit: string): Promise<string[]> {
  const { entries } = await entriesOfBranches(path, [{ name: "main", bit: 0, commit }], neverStop, unlisted);
  return entries.map((entry) => print(entry.path, entry.oid, entry.isFile, isLeftOut(entry), entry.rules.key)).sort();
}

/** A read worker with one live shard of a repository. */
class Reading {
  readonly #context: ReadContext;
  readonly #store: ShardStore;
  readonly #lfsTree: string;
  #shard: ShardReader | undefined;

  constructor(t: Test, source: GitFixture) {
    const dataFolder = mkdtempSync(join(tmpdir(), "trawl-"));
    const store = new ShardStore(join(dataFolder, "shards"));
    t.teardown(async () => {
      await store.close();
      removeFolder(dataFolder);
    });
    mkdirSync(join(dataFolder, mirrorsFolder));
    symlinkSync(source.path, join(dataFolder, mirrorsFolder, mirrorName(repositoryId)));
    const none = source.sibling("none");
    writeFileSync(none, "");
    const list = listLfsContents(new Map(), new Set(), false, source.git("hash-object", "-w", none));
    this.#lfsTree = execFileSync("git", ["-C", source.path, "mktree"], { input: list, encoding: "utf8" }).trim();
    this.#store = store;
    this.#context = {
      dataFolder,
      kernel,
      arena: new SharedArrayBuffer(16 << 20),
      ctagsCommand: undefined,
      store: () => store,
      readers: new ReaderCache(),
      stop: neverStop,
    };
  }

  async index(id: number, entries: readonly Entry[]): Promise<void> {
    const builder = new ShardBuilder(kernel, undefined);
    for (const entry of entries) {
      const { path, oid, isFile, rules, branchMask } = entry;
      const document = { repositoryId, path, branchMask, oid, language: rules.language, flags: rules.flags };
      const text = pointerTexts[[...pointers].indexOf(oid)] ?? oid;
      if (isLeftOut(entry)) builder.addSkipped({ ...document, skipReason: "lfs" });
      else if (isFile && !rules.isIgnored)
        builder.addDocument(builder.addContent(oid, Buffer.from(text)), { ...document, skipReason: "none" });
      else builder.addSkipped({ ...document, skipReason: isFile ? "ignored" : "not-regular" });
    }
    const bytes = builder.build((byteCount) => Buffer.alloc(byteCount));
    await this.#store.put([{ id, bytes }]);
    this.#shard = new ShardReader(id, bytes);
  }

  /** The documents that each commit has, sorted, and how many of all are in no shard. */
  async find(base: IndexedBranch, commits: readonly string[]) {
    const shard = this.#shard;
    assert.ok(shard !== undefined);
    const live = [{ id: shard.id, checksum: shard.checksum, tombstones: undefined }];
    const question = {
      kind: "find-documents",
      repositoryId,
      lfsTree: this.#lfsTree,
      withSubmodules: false,
      base,
      commits,
      limits,
      live,
      cached: [],
    } as const;
    const answer = await answerFindDocuments(question, this.#context);
    const found = new Map<string, string[]>(answer.commits.map((commit) => [commit, []]));
    const add = (document: string, set: number): void => {
      for (let i = answer.setStarts[set]!; i < answer.setStarts[set + 1]!; i++)
        for (let at = answer.setRanges[2 * i]!; at < answer.setRanges[2 * i + 1]!; at++)
          found.get(answer.commits[at]!)?.push(document);
    };
    answer.live[0]!.forEach((set, document) => add(printDocument(shard, document), set));
    let missingCount = 0;
    for (const { entries, shardBytesMax, documentCount } of answer.parts) {
      const bytes = { id: 1_000, from: 4_096, to: 4_096 + Math.ceil(shardBytesMax / 8) * 8 };
      const part = { kind: "cache-documents", repositoryId, entries, bytes, limits } as const;
      const { sets, byteCount } = await answerKeepDocuments(part, this.#context);
      const reader = new ShardReader(1_000, new Uint8Array(this.#context.arena, bytes.from, byteCount));
      sets.forEach((set, document) => add(printDocument(reader, document), set));
      missingCount += documentCount;
    }
    for (const documents of found.values()) documents.sort();
    return { found, missingCount };
  }
}

const paths = ["a.c", "b", "dir/c.c", "dir/sub/d.c", "other/e.c"];
const texts: readonly FixtureFile[] = ["one", "two", { symlink: "one" }, { deleted: true }, ...pointerTexts];
const tooManyLines = "* linguist-vendored\n".repeat(attributeRulesMax + 1);
const tooManyFilters = "*.c filter=lfs\n".repeat(5_000);
const rules: readonly (readonly [path: string, text: FixtureFile])[] = [
  [".gitattributes", "*.c linguist-language=Go\n"],
  [".gitattributes", "[attr]made linguist-generated\n*.c made\n"],
  [".gitattributes", { deleted: true }],
  [".gitattributes", "[attr]large filter=lfs -text\n*.c large\n"],
  ["dir/.gitattributes", "* filter=lfs\n"],
  ["dir/.gitattributes", "*.c -filter\n"],
  ["dir/.gitattributes", tooManyFilters],
  ["dir/.gitattributes", "# a comment\n"],
  ["dir/.gitattributes", "c.c linguist-vendored\n"],
  ["dir/.gitattributes", tooManyLines],
  ["dir/.gitattributes", { deleted: true }],
  [".sourcegraph/ignore", "dir/sub\n"],
  [".sourcegraph/ignore", { deleted: true }],
];

t.test("documents of commits are those of their trees", async (t) => {
  const next = randomFrom(seed);
  const source = fixture(t);
  const reading = new Reading(t, source);
  const change = (branch: string): string => {
    const [ruled, said] = rules[next(rules.length)]!;
    const changed = next(2) === 0 ? {} : { [paths[next(paths.length)]!]: texts[next(texts.length)]! };
    return source.commit({ branch, files: { ...changed, ...(next(4) === 0 ? {} : { [ruled]: said }), kept: "x" } });
  };
  for (const branch of ["main", "dev"])
    source.commit({ branch, files: Object.fromEntries(paths.map((path) => [path, branch])) });
  for (let round = 0; round < runs(240); round++) {
    const branches = ["main", "dev"].map((name, bit): IndexedBranch => ({ name, bit, commit: change(name) }));
    await reading.index(1 + round, (await entriesOfBranches(source.path, branches, neverStop, unlisted)).entries);
    const commits = Array.from({ length: 1 + next(4) }, () => change(next(4) === 0 ? "dev" : "main"));
    for (const base of branches) {
      const { found } = await reading.find(base, commits);
      for (const commit of commits)
        t.same(found.get(commit), await treeOf(source, commit), `round ${round}, ${base.name}`);
    }
  }
});

t.test("a document with rules that no commit has for it belongs to none", async (t) => {
  const source = fixture(t);
  const reading = new Reading(t, source);
  const base = source.commit({ branch: "main", files: { a: "one", b: "two" } });
  const commit = source.commit({ branch: "main", files: { a: "three" } });
  const branch = { name: "main", bit: 0, commit: base };
  const { entries } = await entriesOfBranches(source.path, [branch], neverStop);
  await reading.index(
    1,
    entries.map((entry) => (entry.path.toString() === "a" ? { ...entry, rules: makeRules("Go", 0, false) } : entry)),
  );
  t.same((await reading.find(branch, [commit])).found.get(commit), await treeOf(source, commit));
});

t.test("a limit that turns attributes off is about all directories", async (t) => {
  const source = fixture(t);
  const reading = new Reading(t, source);
  const files = { "a/.gitattributes": "*.c linguist-language=Go", "a/f.c": "one", "b/g.c": "two" };
  const base = source.commit({ branch: "main", files });
  const branch = { name: "main", bit: 0, commit: base };
  await reading.index(1, (await entriesOfBranches(source.path, [branch], neverStop)).entries);
  const commits = [tooManyLines, "# none"].map((text) =>
    source.commit({ branch: "main", files: { "b/.gitattributes": text } }),
  );
  const { found } = await reading.find(branch, commits);
  for (const commit of commits) t.same(found.get(commit), await treeOf(source, commit));
});

/** A tree with these entries, sorted by name. */
function writeTree(
  source: GitFixture,
  entries: readonly (readonly [mode: string, name: string, oid: string])[],
): string {
  const file = source.sibling("tree");
  writeFileSync(
    file,
    Buffer.concat(entries.flatMap(([mode, name, oid]) => [Buffer.from(`${mode} ${name}\0`), Buffer.from(oid, "hex")])),
  );
  return source.git("hash-object", "-w", "-t", "tree", file);
}

t.test("a comment in a file with rules does not list all files of a large commit", async (t) => {
  const source = fixture(t);
  const first = source.commit({
    branch: "main",
    files: { "a.c": "one", ".gitattributes": "*.c linguist-language=Go\n" },
  });
  const second = source.commit({ branch: "main", files: { ".gitattributes": "# Go\n*.c linguist-language=Go\n" } });
  const blob = source.git("rev-parse", "main:a.c");
  const names = Array.from({ length: 81 }, (_, i) => String(10 + i));
  // 81 * 81 * 81 files, more than one comparison may have.
  let large = writeTree(
    source,
    names.map((name) => ["100644", name, blob]),
  );
  for (let depth = 0; depth < 2; depth++) {
    const below = large;
    large = writeTree(
      source,
      names.map((name) => ["40000", name, below]),
    );
  }
  const [base = "", commit = ""] = [first, second].map((small) => {
    const attributes = source.git("rev-parse", `${small}:.gitattributes`);
    const tree = writeTree(source, [
      ["100644", ".gitattributes", attributes],
      ["100644", "a.c", blob],
      ["40000", "large", large],
    ]);
    return source.git("-c", "user.name=a", "-c", "user.email=a@b", "commit-tree", "-m", small, tree);
  });
  const reading = new Reading(t, source);
  // Of the base, the files that the others need.
  const { entries } = await entriesOfBranches(source.path, [{ name: "main", bit: 0, commit: first }], neverStop);
  await reading.index(1, entries);
  const { found, missingCount } = await reading.find({ name: "main", bit: 0, commit: base }, [commit]);
  t.same(found.get(commit), await treeOf(source, second));
  t.equal(missingCount, 1, "the file with the comment");
});
