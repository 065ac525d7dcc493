/** Corpora: the same content has the same commits, and what is cut from a source is what it says. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import t, { type Test } from "tap";
import { readManifest, openCorpus, openRepository } from "../../native-bench/corpus/corpus.js";
import { corpusTable } from "../../native-bench/corpus/command.js";
import { makeHistory } from "../../native-bench/corpus/sources.js";
import { makeMany, repositoryMarker } from "../../native-bench/corpus/many.js";
import { commitFolder, readHead, type Source } from "../../native-bench/corpus/repositories.js";
import { corpora } from "../../native-bench/corpus/table.js";
import { drawWords } from "../../native-bench/corpus/words.js";
import { randomFrom } from "../../native-bench/system/random.js";

function temporaryFolder(t: Pick<Test, "teardown">): string {
  const folder = mkdtempSync(join(tmpdir(), "trawl-bench-corpus-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** 300 files in 30 folders. */
async function makeSource(t: Pick<Test, "teardown">): Promise<Source> {
  const path = temporaryFolder(t);
  for (let i = 0; i < 300; i++) {
    const file = join(path, `top${i % 5}/sub${i % 30}/file ${i}.txt`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, Array.from({ length: 10 }, (_, line) => `file ${i} line ${line}: word${i % 7}\n`).join(""));
  }
  await commitFolder(path);
  return { path };
}

function git(folder: string, ...args: string[]): string {
  return execFileSync("git", ["-C", folder, ...args], { encoding: "utf8" }).trim();
}

function isWhole(folder: string): boolean {
  git(folder, "fsck", "--full", "--strict");
  return true;
}

const source = await makeSource(t);

t.test("a folder results in the same commit wherever it is", async (t) => {
  const [one, other] = [source, await makeSource(t)];
  t.equal(git(one.path, "rev-parse", "HEAD"), git(other.path, "rev-parse", "HEAD"));
  t.equal(git(one.path, "status", "--porcelain", "--ignored"), "");
});

t.test("a history ends with the tree of its source", async (t) => {
  const [one, other] = [temporaryFolder(t), temporaryFolder(t)];
  await makeHistory(one, source);
  await makeHistory(other, source);
  t.equal(git(one, "rev-list", "--count", "HEAD"), "200");
  t.equal(git(one, "rev-parse", "HEAD^{tree}"), git(source.path, "rev-parse", "HEAD^{tree}"));
  t.equal(readHead(one), readHead(other));
  const changes = git(one, "log", "--format=", "--name-status")
    .split("\n")
    .map((line) => line[0]);
  t.ok(changes.includes("A") && changes.includes("M"), "files come, and files change");
  t.ok(isWhole(one), "it needs nothing of its source");
});

t.test("generated repositories differ from each other, and are the same each time", async (t) => {
  const [one, other] = [temporaryFolder(t), temporaryFolder(t)];
  const made = await makeMany(one, source, 105, () => {});
  const again = await makeMany(other, source, 5, () => {});
  const heads = made.repositories.map(({ directory }) => readHead(join(one, directory)));
  t.equal(new Set(heads).size, 105);
  t.same(
    again.repositories.map(({ directory }) => readHead(join(other, directory))),
    heads.slice(0, 5),
  );
  t.equal(made.fileCount, 105 * 20);
  const last = join(one, made.repositories.at(-1)?.directory ?? "");
  t.ok(isWhole(last));
  t.equal(
    git(last, "grep", "-l", repositoryMarker(104), "HEAD").split("\n").length,
    20,
    "each file has the marker of its repository",
  );
});

t.test("the same seed draws the same words, each once and from the source", async (t) => {
  const words = await drawWords(source, 6, randomFrom(7));
  t.same(await drawWords(source, 6, randomFrom(7)), words);
  t.equal(new Set(words).size, 6);
});

t.test("a corpus is created once, checked, and created again when its source has changed", async (t) => {
  const given = await makeSource(t);
  process.env["BENCH_CORPUS"] = given.path;
  t.teardown(() => {
    delete process.env["BENCH_CORPUS"];
  });
  const said: string[] = [];
  const context = {
    cacheFolder: temporaryFolder(t),
    progress: (text: string) => {
      said.push(text);
    },
  };
  t.equal((await openCorpus("linux", context)).path, given.path, "the given one stands for linux");
  const made = await openCorpus("linux-history", context);
  t.match(said, [/^making the corpus linux-history/]);
  t.match(made.note, /another version of its source/, "its figures do not compare with the committed ones");
  t.equal((JSON.parse(readFileSync(made.config, "utf8")) as { repositories: unknown[] }).repositories.length, 1);
  t.equal(readManifest("linux-history", context.cacheFolder)?.checksum, made.checksum);
  t.equal((await openCorpus("linux-history", context)).checksum, made.checksum);
  t.equal(said.length, 1, "it is there");
  writeFileSync(join(given.path, "new.txt"), "new\n");
  await commitFolder(given.path);
  await openCorpus("linux-history", context);
  t.equal(said.length, 2, "its source has changed");
  git(made.path, "update-ref", "refs/heads/main", "refs/heads/main^");
  await t.rejects(openCorpus("linux-history", context), /is not what was made there/);
});

t.test("a work tree that differs from its commit is rejected", async (t) => {
  const { path } = await makeSource(t);
  writeFileSync(join(path, "more.txt"), "more\n");
  await t.rejects(openRepository(path, temporaryFolder(t)), /differs from its commit/);
});

t.test("the table lists every corpus with its source and description", async (t) => {
  const { rows, head } = corpusTable(temporaryFolder(t));
  t.same(
    rows.map(([name]) => name),
    corpora.map(({ name }) => name),
  );
  for (const row of rows) t.equal(row.length, head.length);
  for (const { name, what, fileCount, textBytes } of corpora) t.ok(what !== "" && fileCount > 0 && textBytes > 0, name);
  t.ok(
    rows.every(([name = "", ...cells]) => cells.at(-1)?.endsWith(`bin/trawl-bench corpus ${name}`)),
    "each has its command",
  );
  await t.rejects(openCorpus("nothing", { cacheFolder: temporaryFolder(t), progress: () => {} }), /there are linux, /);
});
