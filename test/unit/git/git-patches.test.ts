import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { contextSign, plusSign, type PatchFile } from "../../../src/git/history/patch-file.js";
import { PatchParser } from "../../../src/git/history/patch-parser.js";
import type { PatchCommit, PatchLimits } from "../../../src/git/history/patch-visitor.js";
import { patchArguments, readPatches, usualPatchLimits, type PatchReader } from "../../../src/git/history/patches.js";
import { GitFixture } from "../../support/git-fixture.js";
import { generateHistory } from "../../support/history-repository.js";
import { seed } from "../../support/property.js";
import { randomFrom } from "../../support/random.js";

const never = (): boolean => false;

/** What a reader was told, one text per call. */
class Heard implements PatchReader {
  readonly texts: string[] = [];
  readonly commits: PatchCommit[] = [];
  commitCountMax = Infinity;

  commit(commit: PatchCommit): void {
    this.commits.push({ ...commit, message: Buffer.from(commit.message) });
    const { oid, parents, author, committer, message, isMessageCut } = commit;
    const person = [author, committer].map((one) => `${one.name} <${one.email}> ${one.seconds} ${one.zoneMinutes}`);
    this.texts.push(
      `commit ${oid} ${parents.join()} ${person.join()} ${JSON.stringify(message.toString("latin1"))}${isMessageCut ? "…" : ""}`,
    );
  }

  file(file: PatchFile): void {
    this.texts.push(
      `${file.status} ${file.path.toString("latin1")}${file.isBinary ? " binary" : ""}${file.isTooLarge ? " large" : ""}`,
    );
    for (let i = 0; i < file.hunkCount; i++) {
      const { oldStart, newStart, sectionFrom, sectionTo, firstLine } = file.hunks[i];
      this.texts.push(`@@ ${oldStart} ${newStart} ${file.bytes.toString("latin1", sectionFrom, sectionTo)}`);
      const end = i + 1 < file.hunkCount ? file.hunks[i + 1].firstLine : file.lineCount;
      for (let line = firstLine; line < end; line++)
        this.texts.push(
          String.fromCharCode(file.lineSign[line]) +
            file.bytes.toString("latin1", file.lineFrom[line], file.lineTo[line]),
        );
    }
  }

  endCommit(isComplete: boolean): boolean {
    this.texts.push(isComplete ? "end" : "incomplete");
    return this.texts.filter((text) => text === "end").length < this.commitCountMax;
  }

  missing(oid: string): void {
    this.texts.push(`missing ${oid}`);
  }

  /** Without the headers of commits. */
  get changes(): string[] {
    return this.texts.filter((text) => !text.startsWith("commit "));
  }
}

async function read(directory: string, commits: readonly string[], limits: Partial<PatchLimits> = {}): Promise<Heard> {
  const heard = new Heard();
  await readPatches({ directory, commits, limits: { ...usualPatchLimits, ...limits }, stop: never }, heard);
  return heard;
}

function fixture(): GitFixture {
  const made = GitFixture.create();
  t.teardown(() => made.remove());
  return made;
}

const main = "main";

t.test("changes of files", async (t) => {
  const repository = fixture();
  const lines = (...all: string[]): string => all.map((line) => `${line}\n`).join("");
  const root = repository.commit({
    branch: main,
    files: [
      ["a", lines("one", "two", "three", "four", "five")],
      ["empty", ""],
      [Buffer.from('w "q"\n\xff', "latin1"), lines("x")],
      ["bin", "a\0b"],
      ["link", { symlink: "a" }],
      ["mode", "same"],
      ["sub", { gitlink: "1".repeat(40) }],
    ],
  });
  const change = repository.commit({
    branch: main,
    files: {
      a: lines("one", "two", "3", "four", "five").slice(0, -1),
      bin: "a\0c",
      link: "file now",
      mode: { executable: "same" },
      sub: { gitlink: "2".repeat(40) },
      empty: { deleted: true },
    },
  });
  const empty = repository.commit({ branch: main, files: {} });
  const heard = await read(repository.path, [empty, change, root]);
  t.same(
    heard.commits.map(({ oid }) => oid),
    [empty, change, root],
    "in the order of the request",
  );
  t.same(
    heard.commits.map(({ parents }) => parents),
    [[change], [root], []],
  );
  t.same(heard.changes, [
    "end",
    ...["M a", "@@ 2 2 one", " two", "-three", "+3", " four", "-five", "+five"],
    "M bin binary",
    "D empty",
    ...["D link", "@@ 1 1 ", "-a", "A link", "@@ 1 1 ", "+file now"],
    "M mode",
    ...["M sub", "@@ 1 1 ", `-Subproject commit ${"1".repeat(40)}`, `+Subproject commit ${"2".repeat(40)}`],
    "end",
    ...["A a", "@@ 1 1 ", "+one", "+two", "+three", "+four", "+five"],
    "A bin binary",
    "A empty",
    ...["A link", "@@ 1 1 ", "+a"],
    ...["A mode", "@@ 1 1 ", "+same"],
    ...["A sub", "@@ 1 1 ", `+Subproject commit ${"1".repeat(40)}`],
    ...['A w "q"\n\xff', "@@ 1 1 ", "+x"],
    "end",
  ]);
});

t.test("lines that look like git's own", async (t) => {
  const repository = fixture();
  const text = "diff --git a/x b/x\n@@ -1,2 +1 @@\n\x01\n--- a\n+++ b\n\\ No newline\n\n";
  const first = repository.commit({ branch: main, files: { x: text }, message: text });
  const second = repository.commit({ branch: main, files: { x: "" }, message: `\n\n${text}` });
  const heard = await read(repository.path, [second, first]);
  const shown = text.split("\n").slice(0, -1);
  t.same(heard.changes, [
    ...["M x", "@@ 1 1 ", ...shown.map((line) => `-${line}`), "end"],
    ...["A x", "@@ 1 1 ", ...shown.map((line) => `+${line}`), "end"],
  ]);
  t.equal(heard.commits[1].message.toString(), text.trimEnd());
});

t.test("persons, dates and messages", async (t) => {
  const repository = fixture();
  const commit = (author: string, message: string | Buffer, encoding = ""): string => {
    const text = Buffer.concat([
      Buffer.from(`tree ${repository.git("mktree")}\nauthor ${author}\ncommitter C <c> 1 +0000\n${encoding}\n`),
      Buffer.from(message),
    ]);
    return execFileSync("git", ["hash-object", "-t", "commit", "-w", "--stdin", "--literally"], {
      cwd: repository.path,
      input: text,
    })
      .toString()
      .trim();
  };
  const rows: readonly (readonly [oid: string, name: string, seconds: number, zone: number, message: string])[] = [
    [commit("A B <a@b> 99999999999 +0530", "late\n"), "A B", 99999999999, 330, "late"],
    [
      commit("\xe9 <e> 5 -0100", Buffer.from("caf\xe9", "latin1"), "encoding ISO-8859-1\n"),
      "\xc3\xa9",
      5,
      -60,
      "caf\xc3\xa9",
    ],
    [commit("A <a> 5 +9999999", Buffer.from("bad \xff utf-8", "latin1")), "A", 5, 0, "bad \xff utf-8"],
    [commit("A <a>", "no date"), "A", 0, 0, "no date"],
    [commit("A <a> 7 +0000", Buffer.from("cut\0here")), "A", 7, 0, "cut"],
    [commit("A <a> 7 +0000", ""), "A", 7, 0, ""],
  ];
  const heard = await read(
    repository.path,
    rows.map(([oid]) => oid),
  );
  heard.commits.forEach(({ author, message }, i) => {
    const [, name, seconds, zone, text] = rows[i];
    if (i !== 1) t.equal(author.name.toString("latin1"), name);
    t.equal(author.seconds, seconds, text);
    t.equal(author.zoneMinutes, zone, text);
    t.equal(message.toString("latin1"), text);
  });
});

t.test("limits", async (t) => {
  const repository = fixture();
  const long = "x".repeat(5_000);
  const oid = repository.commit({
    branch: main,
    files: { a: `${long}\n`, b: "small\n", c: `${"y\n".repeat(3_000)}`, d: "last\n" },
    message: "é".repeat(600),
  });
  const cut = await read(repository.path, [oid], { fileBytesMax: 4_000, messageBytesMax: 1_001 });
  t.same(cut.changes, ["A a large", "A b", "@@ 1 1 ", "+small", "A c large", "A d", "@@ 1 1 ", "+last", "end"]);
  t.equal(cut.commits[0].message.toString(), "é".repeat(500), "not within a character");
  t.equal(cut.commits[0].isMessageCut, true);
  const late = await read(repository.path, [oid], { commitBytesMax: 5_006 });
  t.same(
    late.changes.filter((text) => /^A/.test(text)),
    ["A a", "A b", "A c large", "A d large"],
  );
});

t.test("a line that is longer than any buffer", async (t) => {
  const repository = fixture();
  const first = repository.commit({ branch: main, files: { a: "z".repeat(6 << 20), b: "b\n" } });
  const second = repository.commit({ branch: main, files: { a: `${"z".repeat(6 << 20)}\ny\n` } });
  const heard = await read(repository.path, [second, first]);
  t.same(heard.changes, ["M a large", "end", "A a large", "A b", "@@ 1 1 ", "+b", "end"]);
});

t.test("damage costs its own commits only", async (t) => {
  const repository = fixture();
  const oids = ["1", "2", "3", "4"].map((text) => repository.commit({ branch: main, files: { a: text } }));
  const remove = (oid: string): void => rmSync(join(repository.path, "objects", oid.slice(0, 2), oid.slice(2)));
  remove(execFileSync("git", ["hash-object", "--stdin"], { input: "2" }).toString().trim());
  remove(oids[3]);
  const unknown = `${"0".repeat(39)}1`;
  const heard = await read(repository.path, [oids[3], oids[2], oids[1], oids[0], unknown]);
  t.same(heard.changes, [
    `missing ${oids[3]}`,
    "incomplete",
    "incomplete",
    ...["A a", "@@ 1 1 ", "+1", "end"],
    `missing ${unknown}`,
  ]);
});

t.test("the reader and a stop end the reading", async (t) => {
  const repository = fixture();
  const oids = Array.from({ length: 5 }, (_, i) => repository.commit({ branch: main, files: { a: String(i) } }));
  const heard = new Heard();
  heard.commitCountMax = 2;
  const request = { directory: repository.path, commits: oids, limits: usualPatchLimits, stop: never };
  t.equal(await readPatches(request, heard), 2);
  t.equal(heard.commits.length, 2);
  let reads = 0;
  const stop = (): boolean => ++reads > 1;
  await t.rejects(readPatches({ ...request, stop }, new Heard()), { code: "cancelled" });
  const failing = new Heard();
  failing.file = () => {
    throw new Error("full");
  };
  await t.rejects(readPatches(request, failing), { message: "full" });
  await t.rejects(readPatches({ ...request, directory: "/nonexistent" }, new Heard()), { code: "git" });
});

t.test("headers without changes", async (t) => {
  const repository = generateHistory(seed, 40);
  t.teardown(() => repository.remove());
  const oids = repository.git("rev-list", "--all").split("\n");
  const whole = await read(repository.path, oids);
  const headers = new Heard();
  const request = { directory: repository.path, commits: oids, limits: usualPatchLimits, stop: never };
  t.equal(await readPatches({ ...request, headersOnly: true }, headers), oids.length);
  t.same(headers.commits, whole.commits);
  t.same(
    headers.changes,
    Array.from(oids, () => "end"),
  );
  const unknown = "1".repeat(40);
  const some = new Heard();
  await readPatches({ ...request, commits: [unknown, oids[3], unknown, oids[1]], headersOnly: true }, some);
  t.same(some.changes, [`missing ${unknown}`, "end", `missing ${unknown}`, "end"]);
});

t.test("however the output is cut into chunks", async (t) => {
  const repository = generateHistory(seed, 30);
  t.teardown(() => repository.remove());
  const oids = repository.git("rev-list", "--all").split("\n");
  const whole = await read(repository.path, oids);
  t.ok(whole.texts.length > 100);
  t.ok(
    whole.texts.some((text) => text.startsWith(String.fromCharCode(plusSign))) &&
      whole.texts.some((text) => text.startsWith(String.fromCharCode(contextSign))),
  );
  const input = `${oids.join("\n")}\n`;
  const output = execFileSync("git", ["diff-tree", ...patchArguments], { cwd: repository.path, input });
  const random = randomFrom(seed);
  for (let round = 0; round < 5; round++) {
    const heard = new Heard();
    const parser = new PatchParser(heard, usualPatchLimits);
    for (let at = 0; at < output.length; ) {
      const size = 1 + random(round === 0 ? 1 : 10 ** round);
      parser.add(output.subarray(at, at + size));
      at += size;
    }
    parser.finish(true);
    t.same(heard.texts, whole.texts, `chunks of up to ${10 ** round} bytes`);
  }
});
