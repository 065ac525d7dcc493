import { execFileSync } from "node:child_process";
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import t, { type Test } from "tap";
import { monotonicMs, sleep } from "../../../src/base/deadline.js";
import { TrawlError } from "../../../src/base/errors.js";
import { BlobReader, type BlobOutcome } from "../../../src/git/objects/blob-reader.js";
import { readCommitDate } from "../../../src/git/history/commit-attributes.js";
import {
  diffTrees,
  listTree,
  resolveRevision,
  type TreeChange,
  type TreeEntry,
} from "../../../src/git/objects/objects.js";
import { neverStop } from "../../../src/git/run/run.js";
import { GitFixture } from "../../support/git-fixture.js";
import { within } from "../../support/waiting.js";

const latin1Name = Buffer.from("caf\xe9/\xff\xfe.txt", "latin1");

function fixture(t: Test, format: "sha1" | "sha256" = "sha1"): GitFixture {
  const repository = GitFixture.create("bare", format);
  t.teardown(() => repository.remove());
  return repository;
}

function printEntry({ mode, size, path }: TreeEntry): string {
  return `${mode.toString(8)} ${size} ${path.toString("latin1")}`;
}

function printChange({ status, oldMode, newMode, path }: TreeChange): string {
  return `${status} ${oldMode.toString(8)}>${newMode.toString(8)} ${path.toString("latin1")}`;
}

function openReader(t: Test, directory: string, contentBytesMax = 1 << 20, stop = neverStop): BlobReader {
  const reader = new BlobReader({ directory, contentBytesMax, silenceMs: 10_000, stop });
  t.teardown(() => reader.close());
  return reader;
}

/** The results as short texts: the first bytes of the content, or the reason why there is none. */
async function readAll(reader: BlobReader, oids: Iterable<string>): Promise<string[]> {
  const texts: string[] = [];
  await reader.read(oids, (index, outcome) => {
    texts[index] = printOutcome(outcome);
  });
  return texts;
}

function printOutcome(outcome: BlobOutcome): string {
  switch (outcome.kind) {
    case "content":
      return `"${outcome.content.toString("latin1", 0, 20)}"`;
    case "too-large":
      return `too-large ${outcome.contentBytes}`;
    case "missing":
      return "missing";
  }
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "no error",
    (error: unknown) => (error instanceof TrawlError ? error.code : String(error)),
  );
}

for (const format of ["sha1", "sha256"] as const) {
  t.test(`a tree with every kind of entry, ${format}`, async (t) => {
    const repository = fixture(t, format);
    const other = "0123456789abcdef".repeat(format === "sha1" ? 3 : 4).slice(0, format === "sha1" ? 40 : 64);
    const commit = repository.commit({
      branch: "main",
      files: [
        ["a.txt", "hello\n"],
        ["run.sh", { executable: "#!/bin/sh\n" }],
        ["link", { symlink: "a.txt" }],
        ["vendor/lib", { gitlink: other }],
        [latin1Name, "latin1 name"],
        ["new\nline", "n"],
        ["empty", ""],
      ],
    });
    const entries = await listTree(repository.path, commit, "with-sizes", neverStop);
    t.strictSame(entries.map(printEntry), [
      "100644 6 a.txt",
      "100644 11 caf\xe9/\xff\xfe.txt",
      "100644 0 empty",
      "120000 5 link",
      "100644 1 new\nline",
      "100755 10 run.sh",
      "160000 -1 vendor/lib",
    ]);
    const plain = await listTree(repository.path, commit, "without-sizes", neverStop);
    t.strictSame(
      plain,
      entries.map((entry) => ({ ...entry, size: -1 })),
      "sizes are the only difference",
    );
    t.strictSame(
      await readAll(
        openReader(t, repository.path),
        entries.map(({ oid }) => oid),
      ),
      ['"hello\n"', '"latin1 name"', '""', '"a.txt"', '"n"', '"#!/bin/sh\n"', "missing"],
    );
  });

  t.test(`differences between commits, ${format}`, async (t) => {
    const repository = fixture(t, format);
    const steps: readonly (readonly [
      name: string,
      files: [string | Buffer, import("../../support/git-fixture.js").FixtureFile][],
      expected: string[],
    ])[] = [
      [
        "added, also in a new directory",
        [
          ["d/e/f", "1"],
          ["g", "1"],
        ],
        ["added 0>100644 d/e/f", "added 0>100644 g"],
      ],
      ["modified", [["d/e/f", "2"]], ["modified 100644>100644 d/e/f"]],
      ["mode", [["d/e/f", { executable: "2" }]], ["modified 100644>100755 d/e/f"]],
      ["type", [["g", { symlink: "d" }]], ["modified 100644>120000 g"]],
      [
        "file becomes a directory",
        [
          ["g", { deleted: true }],
          ["g/h", "1"],
        ],
        ["deleted 120000>0 g", "added 0>100644 g/h"],
      ],
      [
        "directory becomes a file",
        [
          ["g/h", { deleted: true }],
          ["g", "1"],
        ],
        ["added 0>100644 g", "deleted 100644>0 g/h"],
      ],
      ["deleted", [["d/e/f", { deleted: true }]], ["deleted 100755>0 d/e/f"]],
      [
        "renamed",
        [
          ["g", { deleted: true }],
          ["h", "1"],
        ],
        ["deleted 100644>0 g", "added 0>100644 h"],
      ],
      [
        "order by bytes",
        [
          ["h.c", "1"],
          ["h", { deleted: true }],
          ["h/x", "1"],
        ],
        ["deleted 100644>0 h", "added 0>100644 h.c", "added 0>100644 h/x"],
      ],
      ["name that is not UTF-8", [[latin1Name, "1"]], ["added 0>100644 caf\xe9/\xff\xfe.txt"]],
      ["nothing", [], []],
    ];
    let before = repository.commit({ branch: "main", files: { keep: "k" } });
    for (const [name, files, expected] of steps) {
      const after = repository.commit({ branch: "main", files });
      const changes = await diffTrees(repository.path, before, after, neverStop);
      t.strictSame(changes.map(printChange), expected, name);
      before = after;
    }
  });
}

t.test("revisions", async (t) => {
  const repository = fixture(t);
  const first = repository.commit({ branch: "main", files: { a: "1" } });
  const second = repository.commit({ branch: "main", files: { a: "2" } });
  const tagObject = repository.annotatedTag("v1", first);
  repository.updateRef("refs/heads/-h", first);
  repository.updateRef("refs/heads/--upload-pack=x", second);
  repository.updateRef("refs/heads/größe", first);
  const blob = repository.git("rev-parse", "main:a");
  const cases: readonly (readonly [revision: string, expected: string | null])[] = [
    ["main", second],
    ["HEAD", second],
    ["HEAD~1", first],
    ["refs/heads/main", second],
    ["v1", first],
    [tagObject, first],
    [first, first],
    [first.slice(0, 10), first],
    ["refs/heads/-h", first],
    ["refs/heads/--upload-pack=x", second],
    ["-h", null],
    ["--upload-pack=x", null],
    ["main^{/.}", null],
    [":/.", null],
    ["größe", first],
    ["", null],
    ["--all", null],
    ["nothing", null],
    ["main..v1", null],
    ["main\0", null],
    ["main\nv1", null],
    [blob, null],
    ["main:a", null],
    ["f".repeat(40), null],
  ];
  for (const [revision, expected] of cases) {
    t.equal(await resolveRevision(repository.path, revision, neverStop), expected, JSON.stringify(revision));
  }
});

t.test("many blobs of all sizes arrive complete and in order", async (t) => {
  const repository = fixture(t);
  const sizes = Array.from({ length: 1300 }, (_, index) => (index % 97 === 0 ? 150_000 : (index * 7919) % 9000));
  const contents = sizes.map((size, index) => Buffer.alloc(size, `${index} `));
  const commit = repository.commit({
    branch: "main",
    files: contents.map((content, index) => [`f${index}`, content] as const),
  });
  const entries = await listTree(repository.path, commit, "without-sizes", neverStop);
  const oids = entries.map(({ oid }) => oid);
  const contentOf = (index: number): Buffer | undefined => contents[Number(entries[index]?.path.toString().slice(1))];
  const reader = openReader(t, repository.path);
  let seen = 0;
  await reader.read(oids, (index, outcome) => {
    if (index !== seen++ || outcome.kind !== "content" || !contentOf(index)?.equals(outcome.content))
      t.fail(`blob ${index}`);
  });
  t.equal(seen, 1300);
  seen = 0;
  await reader.read(oids.slice(0, 600), async (index, outcome) => {
    if (index % 100 === 0) await sleep(2);
    if (outcome.kind === "content" && contentOf(index)?.equals(outcome.content)) seen++;
  });
  t.equal(seen, 600, "the same while the caller holds the reader now and then");
  t.strictSame(await readAll(reader, []), [], "nothing is fine too");
});

t.test("large, missing and other objects", async (t) => {
  const repository = fixture(t);
  const commit = repository.commit({ branch: "main", files: { large: "x".repeat(1001), exact: "y".repeat(1000) } });
  const oid = (revision: string): string => repository.git("rev-parse", revision);
  const oids = [oid("main:large"), oid("main:exact"), "0".repeat(40), commit, oid("main^{tree}"), oid("main:exact")];
  t.strictSame(await readAll(openReader(t, repository.path, 1000), oids), [
    "too-large 1001",
    `"${"y".repeat(20)}"`,
    "missing",
    "missing",
    "missing",
    `"${"y".repeat(20)}"`,
  ]);
});

t.test("a blob larger than every buffer", async (t) => {
  const repository = fixture(t);
  const content = Buffer.alloc(20 << 20, "0123456789\n");
  repository.commit({ branch: "main", files: { large: content } });
  await openReader(t, repository.path, 1 << 25).read([repository.git("rev-parse", "main:large")], (_, outcome) => {
    t.ok(outcome.kind === "content" && outcome.content.equals(content));
  });
});

t.test("a reader ends on close, stop, failure and damage", async (t) => {
  const repository = fixture(t);
  repository.commit({ branch: "main", files: { a: "1" } });
  const oid = repository.git("rev-parse", "main:a");
  const forever = (): Promise<void> => new Promise(() => undefined);

  const closed = openReader(t, repository.path);
  closed.close();
  closed.close();
  t.equal(await codeOf(closed.read([oid], () => undefined)), "cancelled", "closed");

  const startMs = monotonicMs();
  const stopped = openReader(t, repository.path, 10, () => monotonicMs() - startMs > 100);
  const endless = (function* () {
    for (;;) yield oid;
  })();
  t.equal(await within(codeOf(stopped.read(endless, () => undefined)), "the stop"), "cancelled", "stopped");

  const throwing = openReader(t, repository.path);
  const failing = throwing.read([oid], () => {
    throw new TrawlError("storage", "the caller's own");
  });
  t.equal(await codeOf(failing), "storage", "what the caller throws");
  t.equal(await codeOf(throwing.read([oid], forever)), "cancelled", "dead after that");

  t.equal(await codeOf(openReader(t, "/nonexistent").read([oid], forever)), "git", "no repository");
  t.equal(await codeOf(openReader(t, repository.path).read(["--help\n"], forever)), "internal", "not an oid");
});

t.test("dates of commits are those that git prints, for packed and loose commits of any size", async (t) => {
  const repository = GitFixture.create("bare");
  t.teardown(() => repository.remove());
  const commits = ["short", "m".repeat(3 << 20), "\ncommitter A <a> 5 +0000\n"].map((message) =>
    repository.commit({ branch: "main", files: { a: message.slice(0, 9) }, message }),
  );
  const datesOf = async (): Promise<number[]> =>
    await Promise.all(commits.map((commit) => readCommitDate(repository.path, commit, neverStop)));
  const theirs = commits.map((commit) => Number(repository.git("show", "-s", "--format=%ct", commit)));
  repository.git("repack", "-adfq");
  t.strictSame(await datesOf(), theirs, "packed");
  const pack = join(repository.path, "objects", "pack");
  const bytes = readFileSync(join(pack, readdirSync(pack).find((name) => name.endsWith(".pack")) ?? ""));
  rmSync(pack, { recursive: true });
  execFileSync("git", ["-C", repository.path, "unpack-objects", "-q"], { input: bytes });
  t.strictSame(await datesOf(), theirs, "loose");
  await t.rejects(readCommitDate(repository.path, "1".repeat(40), neverStop), { code: "git" });
  const [first] = commits;
  const file = join(repository.path, "objects", first.slice(0, 2), first.slice(2));
  chmodSync(file, 0o600);
  writeFileSync(file, deflateSync(Buffer.concat([Buffer.from("commit 5\0"), Buffer.alloc(64 << 20)])));
  await t.rejects(
    readCommitDate(repository.path, first, neverStop),
    { code: "git" },
    "one that unpacks to 64 MiB is git's to refuse",
  );
});
