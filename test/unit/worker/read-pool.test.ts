import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import type { TrawlError } from "../../../src/base/errors.js";
import { createLog } from "../../../src/base/log.js";
import { createMetrics } from "../../../src/base/metrics.js";
import type { RevisionSpec } from "../../../src/model/revision-syntax.js";
import { ReadPool } from "../../../src/pool/read-pool.js";
import type { CommitAttribute, CommitQuestion, RevisionsOfRepository } from "../../../src/protocol/read-messages.js";
import { PathMasks } from "../../../src/protocol/people-table.js";
import type { FixtureFiles, GitFixture } from "../../support/git-fixture.js";
import { errorOf, fixture } from "../../support/git-mirror.js";
import { within } from "../../support/waiting.js";

const unstopped = (): Int32Array => new Int32Array(new SharedArrayBuffer(4));
const named = (...names: string[]): RevisionSpec[] => names.map((typed) => ({ kind: "name", typed }));
const globs = (...texts: string[]): RevisionSpec[] =>
  texts.map((text) => ({
    kind: "glob",
    typed: text,
    negated: text.startsWith("*!"),
    pattern: text.replace(/^\*!?/, ""),
  }));

const dataFolder = mkdtempSync(join(tmpdir(), "trawl-reads-"));
mkdirSync(join(dataFolder, "mirrors"));
const pool = new ReadPool(
  { dataFolder, kernel: "ts", arena: new SharedArrayBuffer(8), ctagsCommand: undefined },
  1,
  88,
  {
    log: createLog("error"),
    metrics: createMetrics().metrics,
  },
);
let mirrorCount = 0;

t.teardown(async () => {
  await pool.close();
  rmSync(dataFolder, { recursive: true, force: true });
});

/** The id of a repository whose mirror is a copy of `source`. */
function mirrorOf(source: GitFixture): number {
  const repositoryId = ++mirrorCount;
  cpSync(source.path, join(dataFolder, "mirrors", `${repositoryId}.git`), { recursive: true });
  return repositoryId;
}

async function resolve(repositoryId: number, specs: readonly RevisionSpec[]): Promise<RevisionsOfRepository> {
  const answer = await pool.run<"resolve-revisions">(
    { kind: "resolve-revisions", repositories: [{ repositoryId, specs }] },
    { timeoutMs: 600_000, stop: unstopped(), client: "a" },
  );
  return answer.repositories[0];
}

/** `typed=commit number`, in order, then the names that were not found. */
function print({ revisions, missing, malformed, error }: RevisionsOfRepository, commits: readonly string[]): string {
  return [
    ...revisions.map(({ typed, commit }) => `${typed}=${commits.indexOf(commit)}`),
    ...missing.map((typed) => `${typed} missing`),
    ...malformed.map((typed) => `${typed} malformed`),
    ...(error === undefined ? [] : ["error"]),
  ].join(" ");
}

t.test("names of commits", async (t) => {
  const source = fixture(t);
  const commits = [0, 1, 2].map((i) => source.commit({ branch: "main", files: { a: `${i}` } }));
  commits.push(source.commit({ branch: "team/topic", files: { b: "b" } }));
  source.tag("light", commits[0]);
  source.annotatedTag("heavy", commits[1]);
  source.updateRef("refs/tags/no-commit", source.git("rev-parse", "main:a"));
  const repository = mirrorOf(source);
  const rows: readonly (readonly [name: string, names: string[], found: string])[] = [
    ["a branch", ["main"], "main=2"],
    ["a branch with a slash", ["team/topic"], "team/topic=3"],
    ["a full ref", ["refs/heads/main", "refs/tags/light"], "refs/heads/main=2 refs/tags/light=0"],
    ["tags", ["light", "heavy"], "light=0 heavy=1"],
    ["ancestors", ["HEAD~2", "main^", "heavy~1"], "HEAD~2=0 main^=1 heavy~1=0"],
    ["an oid", [commits[1]], `${commits[1]}=1`],
    ["the start of an oid", [commits[1].slice(0, 9)], `${commits[1].slice(0, 9)}=1`],
    ["in capitals", [commits[1].toUpperCase()], `${commits[1].toUpperCase()}=1`],
    [
      "what is not there",
      ["nowhere", "HEAD~9", "f".repeat(40)],
      `nowhere missing HEAD~9 missing ${"f".repeat(40)} missing`,
    ],
    ["what is no commit", ["no-commit", "main^{tree}"], "no-commit missing main^{tree} missing"],
    ["a log of refs, which a mirror has not", ["HEAD@{1}", "main"], "main=2 HEAD@{1} malformed"],
    ["what cannot be a name", ["-x", "a b", "main"], "main=2 -x malformed a b malformed"],
    [
      "a regular expression is not for clients to choose",
      ["HEAD^{/.*}", ":/.*", "main"],
      "main=2 HEAD^{/.*} malformed :/.* malformed",
    ],
    ["a range is no commit", ["light..main", "main"], "main=2 light..main malformed"],
  ];
  for (const [name, names, found] of rows)
    t.equal(print(await resolve(repository, named(...names)), commits), found, name);
});

t.test("globs", async (t) => {
  const source = fixture(t);
  const commit = source.commit({ branch: "main", files: { a: "a" } });
  for (const branch of ["release/1", "release/2", "release/2/beta", "releases"])
    source.updateRef(`refs/heads/${branch.replace("release/2/", "release/2-")}`, commit);
  source.annotatedTag("v1", commit);
  source.tag("v2", commit);
  source.updateRef("refs/tags/blob", source.git("rev-parse", "main:a"));
  const repository = mirrorOf(source);
  const rows: readonly (readonly [globs: string[], found: string])[] = [
    [["*"], "main release/1 release/2 release/2-beta releases refs/tags/v1 refs/tags/v2"],
    [["*heads/release"], "release/1 release/2 release/2-beta"],
    [["*refs/heads/release/"], "release/1 release/2 release/2-beta"],
    [["*heads/release*"], "release/1 release/2 release/2-beta releases"],
    [["*refs/heads/*/?"], "release/1 release/2"],
    [["*refs/heads/main"], "main"],
    [["*refs/tags/v[12]"], "refs/tags/v1 refs/tags/v2"],
    [["*refs/tags/v[!1]"], "refs/tags/v2"],
    [["*refs/tags/v[1"], ""],
    [["*", "*!refs/tags/*", "*!refs/heads/release/*"], "main releases"],
    [["*", "*!refs/heads/release/*", "*heads/release/1"], "main release/1 releases refs/tags/v1 refs/tags/v2"],
    [["*!refs/tags/*"], ""],
    [["*nothing"], ""],
  ];
  for (const [texts, found] of rows) {
    const { revisions, missing } = await resolve(repository, globs(...texts));
    t.same([revisions.map(({ typed }) => typed).join(" "), missing], [found, []], texts.join(" "));
  }
});

t.test("the latest commit at a time", async (t) => {
  const source = fixture(t);
  const commits = [0, 1, 2].map((i) => source.commit({ branch: "main", files: { a: `${i}` } }));
  commits.push(source.commit({ branch: "other", files: { b: "b" }, orphan: true }));
  const repository = mirrorOf(source);
  const at = (unixSeconds: number, base: string): RevisionSpec => ({
    kind: "at-time",
    typed: `${unixSeconds}`,
    unixSeconds,
    base,
  });
  const first = 1_700_000_000;
  const found = async (spec: RevisionSpec): Promise<string> =>
    print(await resolve(repository, [spec]), commits).replace(/^\d+/, "");
  t.equal(await found(at(first + 1, "HEAD")), "=1", "not after the moment");
  t.equal(await found(at(first + 1000, "HEAD")), "=2");
  t.equal(await found(at(first + 1000, "other")), "=3");
  t.equal(await found(at(first - 1, "HEAD")), " missing");
  t.equal(await found(at(first, "nowhere")), " missing");
});

t.test("a repository without commits has a HEAD without a commit", async (t) => {
  const repository = mirrorOf(fixture(t));
  t.same(await resolve(repository, [...named("HEAD", "main"), ...globs("*")]), {
    repositoryId: repository,
    revisions: [],
    missing: ["main"],
    ambiguous: [],
    malformed: [],
    error: undefined,
  });
});

t.test("a missing mirror affects only its own reads", async (t) => {
  const source = fixture(t);
  source.commit({ branch: "main", files: { a: "a" } });
  const repository = mirrorOf(source);
  const repositories = [999, repository].map((repositoryId) => ({ repositoryId, specs: named("main") }));
  const answer = await pool.run<"resolve-revisions">(
    { kind: "resolve-revisions", repositories },
    { timeoutMs: 600_000, stop: unstopped(), client: "a" },
  );
  t.same(
    answer.repositories.map(({ error, revisions }) => [error?.code, revisions.length]),
    [
      ["git", 0],
      [undefined, 1],
    ],
  );
});

async function readAttributes(source: GitFixture, question: CommitQuestion, commit: string): Promise<CommitAttribute> {
  const commits = [{ repositoryId: mirrorOf(source), commit }];
  return (
    await pool.run<"commit-attributes">(
      { kind: "commit-attributes", question, commits },
      { timeoutMs: 600_000, stop: unstopped(), client: "a" },
    )
  ).attributes[0];
}

t.test("when commits were committed", async (t) => {
  const source = fixture(t);
  const commits = [0, 1].map((i) => source.commit({ branch: "main", files: { a: `${i}` } }));
  const repositoryId = mirrorOf(source);
  const dates = commits.map((commit) => Number(source.git("show", "-s", "--format=%ct", commit)));
  const readAttributesAll = async (asked: readonly string[]) =>
    (
      await pool.run<"commit-attributes">(
        {
          kind: "commit-attributes",
          question: { kind: "commit-date" },
          commits: asked.map((commit) => ({ repositoryId, commit })),
        },
        { timeoutMs: 600_000, stop: unstopped(), client: "a" },
      )
    ).attributes;
  t.match(
    await readAttributesAll(commits),
    dates.map((unixSeconds) => ({ kind: "known", unixSeconds })),
    "few",
  );
  const many = Array.from({ length: 40 }, (_, i) => commits[i % 2]);
  t.match(
    await readAttributesAll(many),
    many.map((_, i) => ({ kind: "known", unixSeconds: dates[i % 2] })),
    "many, which are read another way",
  );
  t.match(
    (await readAttributesAll([...many, "e".repeat(40)])).at(-1),
    { kind: "failed", error: { code: "git" } },
    "one that is not there",
  );
});

t.test("the CODEOWNERS file of a commit", async (t) => {
  const rows: readonly (readonly [name: string, files: FixtureFiles, text: string | undefined])[] = [
    ["at the root", { CODEOWNERS: "root" }, "root"],
    [
      "the root comes first",
      { "docs/CODEOWNERS": "docs", ".gitlab/CODEOWNERS": "gitlab", ".github/CODEOWNERS": "github", CODEOWNERS: "root" },
      "root",
    ],
    [
      "then .github",
      { "docs/CODEOWNERS": "docs", ".gitlab/CODEOWNERS": "gitlab", ".github/CODEOWNERS": "github" },
      "github",
    ],
    ["then .gitlab", { "docs/CODEOWNERS": "docs", ".gitlab/CODEOWNERS": "gitlab" }, "gitlab"],
    ["then docs", { "docs/CODEOWNERS": "docs" }, "docs"],
    ["nowhere else", { "src/CODEOWNERS": "src", codeowners: "small" }, undefined],
    ["no link", { CODEOWNERS: { symlink: "docs/CODEOWNERS" }, "docs/CODEOWNERS": "docs" }, "docs"],
    ["no directory", { "CODEOWNERS/a": "a" }, undefined],
    ["none that is larger than 3 MiB", { CODEOWNERS: "x".repeat(3 * 1024 * 1024 + 1) }, undefined],
  ];
  for (const [name, files, text] of rows) {
    const source = fixture(t);
    const attribute = await readAttributes(source, { kind: "code-owners" }, source.commit({ branch: "main", files }));
    t.match(attribute, { kind: "known", holds: text !== undefined }, name);
    t.equal(
      attribute.kind === "known" && attribute.bytes !== undefined ? Buffer.from(attribute.bytes).toString() : undefined,
      text,
      name,
    );
  }
});

t.test("whether a commit has a file", async (t) => {
  const source = fixture(t);
  const commit = source.commit({
    branch: "main",
    files: {
      "src/a.go": "package a\n\nimport b\n",
      "src/b.go": "package b\n",
      "data.bin": "package\0x",
      "large.txt": `${"x\n".repeat(600)}package large\n`,
      link: { symlink: "package" },
    },
  });
  const limits = { fileBytesMax: 1000, largeFiles: [], trigramCountMax: 20_000 };
  const rows: readonly (readonly [path: string, content: string, holds: boolean])[] = [
    ["^SRC/", "", true],
    ["nowhere", "", false],
    ["", "", true],
    ["", "PACKAGE B$", true],
    ["", "nothing", false],
    ["a\\.go$", "^import", true],
    ["b\\.go$", "^import", false],
    ["bin$", "", true],
    ["bin$", "package", false],
    ["large", "package", false],
    ["link", "package", false],
    ["", "$^", false],
    ["", "package|", true],
  ];
  for (const [path, content, holds] of rows) {
    t.match(
      await readAttributes(source, { kind: "has-file", path, content, limits }, commit),
      { kind: "known", holds },
      `${path} ${content}`,
    );
  }
});

t.test("who changed which paths", async (t) => {
  const source = fixture(t);
  const commitBy = (author: string, files: FixtureFiles) =>
    source.commit({ branch: "main", files, author: `${author} 1700000000 +0000` });
  commitBy("Ann <ann@x.test>", [
    ["a", "1"],
    ["dir/b c", "1"],
    [Buffer.from("b\xffd", "latin1"), "1"],
    ["gone", "1"],
  ]);
  commitBy("Zoë Ü <zoe@y.test>", [
    ["a", "2"],
    ["gone", { deleted: true }],
  ]);
  commitBy("nobody <>", [["\ntab\t", "1"]]);
  const before = source.git("rev-parse", "main");
  const last = commitBy("Ann <ann@x.test>", [["late", "1"]]);
  const filters = [
    { source: "ann", foldCase: true },
    { source: "^Zoë", foldCase: false },
    { source: "^$", foldCase: true },
    { source: "X\\.TEST$", foldCase: true },
  ];
  const masks = async (commit: string, ...paths: (string | Buffer)[]) => {
    const attribute = await readAttributes(source, { kind: "contributors", filters }, commit);
    const read = new PathMasks((attribute as { bytes: Uint8Array }).bytes);
    return paths.map((path) => read.lookup(Buffer.from(path)));
  };
  t.same(
    await masks(last, "a", "dir/b c", Buffer.from("b\xffd", "latin1"), "gone", "\ntab\t", "late", "never", "dir"),
    [11, 9, 9, 11, 4, 9, 0, 0],
  );
  t.same(await masks(before, "a", "late"), [11, 0], "what comes later is no part of it");
});

t.test("a question about a commit that is not there", async (t) => {
  const source = fixture(t);
  source.commit({ branch: "main", files: { a: "a" } });
  const limits = { fileBytesMax: 1, largeFiles: [], trigramCountMax: 1 };
  for (const question of [
    { kind: "has-file", path: "a", content: "", limits },
    { kind: "commit-date" },
    { kind: "code-owners" },
    { kind: "contributors", filters: [] },
  ] as const) {
    t.match(
      await readAttributes(source, question, "e".repeat(40)),
      { kind: "failed", error: { code: "git" } },
      question.kind,
    );
  }
});

t.test("a read that is stopped, or takes too long", async (t) => {
  const source = fixture(t);
  source.commit({ branch: "main", files: { a: "a" } });
  const repository = mirrorOf(source);
  const request = {
    kind: "resolve-revisions",
    repositories: [{ repositoryId: repository, specs: named("main") }],
  } as const;
  const stop = unstopped();
  stop[0] = 1;
  t.equal(
    (await errorOf(pool.run<"resolve-revisions">(request, { timeoutMs: 600_000, stop, client: "a" }))).code,
    "cancelled",
  );
  const longRequest = { ...request, repositories: Array.from({ length: 50 }, () => request.repositories[0]) };
  t.equal(
    (await errorOf(pool.run<"resolve-revisions">(longRequest, { timeoutMs: 0, stop: unstopped(), client: "a" }))).code,
    "cancelled",
  );
  t.equal((await resolve(repository, named("main"))).revisions.length, 1, "the pool goes on");
});

t.test("more reads than may wait are refused, those of one client before those of all", async (t) => {
  const request = { kind: "resolve-revisions", repositories: [] } as const;
  const ask = (client: string, count: number) =>
    Array.from({ length: count }, () =>
      pool.run<"resolve-revisions">(request, { timeoutMs: 600_000, stop: unstopped(), client }),
    );
  const reads = [...ask("a", 1 + 880)];
  t.equal((await errorOf(ask("a", 1)[0])).code, "too-many-requests");
  reads.push(...ask("b", 120));
  t.equal((await errorOf(ask("b", 1)[0])).code, "overloaded");
  t.equal((await errorOf(ask("c", 1)[0])).code, "overloaded");
  await Promise.all(reads);
});

t.test("clients read in turn, and none with long reads has all threads", async (t) => {
  const two = new ReadPool(
    { dataFolder, kernel: "ts", arena: new SharedArrayBuffer(8), ctagsCommand: undefined },
    2,
    88,
    {
      log: createLog("error"),
      metrics: createMetrics().metrics,
    },
  );
  t.teardown(() => two.close());
  two.warm();
  const limits = (client: string) => ({ timeoutMs: 600_000, stop: unstopped(), client });
  // Longer than any other read waits, however busy the machine is.
  const long = "x = 1;\n".repeat(140_000);
  const texts = [{ text: long, path: "a.c", language: "", longLines: true }];
  const wanted = { ...limits("a"), stop: unstopped() };
  const ended: string[] = [];
  const highlights = Array.from({ length: 4 }, () =>
    two
      .run<"highlight-texts">({ kind: "highlight-texts", patient: true, texts }, wanted)
      .then(
        () => "done",
        ({ code }: TrawlError) => code,
      )
      .then((end) => void ended.push(end)),
  );
  const short = (client: string): Promise<unknown> =>
    two.run<"resolve-revisions">({ kind: "resolve-revisions", repositories: [] }, limits(client));
  await within(
    Promise.all([short("b"), short("a"), short("b")]),
    "others do not wait for the long ones, nor does what is short of the same client",
  );
  t.strictSame(ended, []);
  Atomics.store(wanted.stop, 0, 1);
  await Promise.all(highlights);
  t.strictSame(ended, ["cancelled", "cancelled", "cancelled", "cancelled"]);
});
