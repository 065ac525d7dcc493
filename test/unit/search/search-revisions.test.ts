/**
 * Revisions that are not indexed: search(needle, commit) == the lines with the needle in `git cat-file` of that commit,
 * and a search of several revisions is the union of the searches of each.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import t from "tap";
import type { Alert, Progress, StreamMatch } from "../../../src/model/stream-events.js";
import { textsOnly, type DaemonProcess } from "../../support/daemon.js";
import type { GitFixture, FixtureFile } from "../../support/git-fixture.js";
import { isFull } from "../../support/full-run.js";
import { fixture } from "../../support/git-mirror.js";
import { linesWith, pathsWith, readCommit } from "../../support/git-oracle.js";
import { randomFrom } from "../../support/random.js";
import { sharedDaemon } from "../../support/shared-daemon.js";
import { until } from "../../support/waiting.js";

interface Answer {
  /** `revision name:path:line`, sorted; a path alone has no line. */
  readonly found: readonly string[];
  /** By revision as written in the query. */
  readonly commits: ReadonlyMap<string, string>;
  readonly alert: string;
  readonly skipped: readonly string[];
  readonly matchCount: number;
}

async function search(daemon: DaemonProcess, query: string): Promise<Answer> {
  const found: string[] = [];
  const commits = new Map<string, string>();
  let alert = "";
  let last: Pick<Progress, "matchCount" | "skipped"> = { matchCount: 0, skipped: [] };
  for (const { name, data } of await daemon.stream(query, "standard")) {
    if (name === "alert")
      alert = (({ title, description }: Alert) => `${title}: ${description}`)(JSON.parse(data) as Alert);
    if (name === "progress") last = JSON.parse(data) as Progress;
    if (name !== "matches") continue;
    for (const { repository, path, branches, commit, lineMatches } of JSON.parse(data) as StreamMatch[]) {
      const typed = branches?.[0] ?? "";
      if (commit !== undefined) commits.set(typed, commit);
      const place = path === undefined ? repository : `${repository}:${path}`;
      for (const line of lineMatches?.map(({ lineNumber }) => `:${lineNumber + 1}`) ?? [""])
        found.push(`${typed} ${place}${line}`);
    }
  }
  return {
    found: found.sort(),
    commits,
    alert,
    skipped: last.skipped.map(({ reason }) => reason),
    matchCount: last.matchCount,
  };
}

/** The contents of a commit according to git, under the requested name. */
function expected(
  source: GitFixture,
  name: string,
  revision: string,
  kind: "lines" | "paths",
  commit = /^[0-9a-f]{40}$/.test(revision) ? revision : source.git("rev-parse", `${revision}^{commit}`),
): string[] {
  const content = readCommit(source.path, commit);
  const rows = kind === "lines" ? linesWith(name, content, "needle") : pathsWith(name, content, ".txt");
  return rows.map((row) => `${revision} ${row}`).sort();
}

/**
 * A history in which files are added, changed, moved, deleted and restored; with links, submodules and binary files.
 */
function growHistory(source: GitFixture, commitCount: number, seed: number): string[] {
  const random = randomFrom(seed);
  const pick = <T>(items: readonly T[]): T => items[random(items.length)];
  const texts = Array.from({ length: 12 }, (_, i) => `line\nneedle ${i}\n${i % 3 === 0 ? "needle again\n" : ""}`);
  const commits: string[] = [];
  for (let i = 0; i < commitCount; i++) {
    const files: Record<string, FixtureFile> = {};
    for (let change = 0; change < 4; change++) {
      const path = `${pick(["a", "b", "deep/er"])}/${pick(["one", "two", "three", "four", "ünlaut"])}.txt`;
      const kind = random(100) / 100;
      if (kind < 0.65) files[path] = pick(texts);
      else if (kind < 0.8) files[path] = { deleted: true };
      else if (kind < 0.85) files[path] = { symlink: "needle" };
      else if (kind < 0.9) files[path] = { gitlink: "1".repeat(40) };
      else if (kind < 0.95) files[path] = Buffer.from("needle\0binary");
      else files[path] = { executable: pick(texts) };
    }
    commits.push(source.commit({ branch: "main", files }));
  }
  return commits;
}

/** Each test has a repository with a name of its own. */
const daemon = await sharedDaemon(t, {}, [...textsOnly, "--set", "search.revisionCacheBytes=16777216"]);

t.test("every commit of a history", async (t) => {
  const source = fixture(t);
  const commits = growHistory(source, 25, 7);
  source.commit({ branch: "other", files: { "other/side.txt": "needle elsewhere\n" } });
  await daemon.add("all", source.path, ["other"]);
  for (const commit of commits.filter((_, i) => isFull || i % 6 === 0)) {
    const { found, commits: seen, alert, skipped } = await search(daemon, `repo:^all$@${commit} type:file needle`);
    t.same(found, expected(source, "all", commit, "lines"), "lines");
    if (found.length > 0) t.same([...seen], [[commit, commit]], "with the commit");
    t.same([alert, skipped], ["", []]);
    t.same(
      (await search(daemon, `repo:^all$@${commit} type:path .txt`)).found,
      expected(source, "all", commit, "paths"),
      "paths",
    );
  }
  const chosen = commits.slice(3, 20);
  const names = chosen.map((commit) => commit.slice(0, 12));
  const union = [
    ...names.flatMap((name, i) => expected(source, "all", name, "lines", chosen[i])),
    ...["main", "other", "HEAD~2"].flatMap((name) => expected(source, "all", name, "lines")),
  ].sort();
  const together = `repo:^all$@${[...names, "main", "other", "HEAD~2"].join(":")} type:file needle`;
  t.same((await search(daemon, together)).found, union, "many at once are all of them");
  t.same((await search(daemon, together)).found, union, "and again, from the cache");
  t.same((await search(daemon, `${together} index:no`)).found, union, "and without posting lists");
  const filtered = await search(daemon, `${together} file:^deep/ -file:two`);
  t.same(
    filtered.found,
    union.filter((row) => / all:deep\//.test(row) && !row.includes("two")),
    "with filters on paths",
  );
  const either = await search(daemon, `(repo:^all$@${names[0]} needle) or (repo:^all$@${names[5]} again) type:file`);
  t.same(
    either.found,
    [
      ...expected(source, "all", names[0], "lines"),
      ...linesWith("all", readCommit(source.path, commits[8]), "again").map((row) => `${names[5]} ${row}`),
    ].sort(),
    "alternatives at revisions of their own",
  );
});

t.test("after the branch has advanced or was force-pushed", async (t) => {
  const source = fixture(t);
  growHistory(source, 4, 11);
  await daemon.add("advanced", source.path);
  const old = source.git("rev-parse", "main");
  growHistory(source, 3, 12);
  await daemon.sync("advanced");
  for (const name of ["HEAD~1", "HEAD~3", "main~5", old]) {
    t.same(
      (await search(daemon, `repo:^advanced$@${name} type:file needle`)).found,
      expected(source, "advanced", name, "lines"),
      name,
    );
  }
  const pushed = source.commit({ branch: "main", orphan: true, files: { "new.txt": "needle anew\n" } });
  await daemon.sync("advanced");
  t.same(
    (await search(daemon, `repo:^advanced$@${old} type:file needle`)).found,
    expected(source, "advanced", old, "lines"),
    "a commit that was force-pushed away, while the mirror has it",
  );
  t.same((await search(daemon, "repo:^advanced$ type:file needle")).found, [" advanced:new.txt:1"]);
  t.same((await search(daemon, `repo:^advanced$@${pushed} type:file needle`)).found, [`${pushed} advanced:new.txt:1`]);
});

t.test("globs, times, and missing revisions", async (t) => {
  const source = fixture(t);
  const commits = [0, 1, 2].map((i) => source.commit({ branch: "main", files: { [`f${i}.txt`]: "needle\n" } }));
  source.updateRef("refs/heads/dev", commits[0]);
  source.updateRef("refs/heads/dev-old", commits[1]);
  source.annotatedTag("v1", commits[0]);
  source.tag("v2", commits[2]);
  const empty = fixture(t);
  await daemon.add("globs", source.path);
  await daemon.add("empty", empty.path);
  const files = (answer: Answer): string =>
    answer.found.map((row) => row.replace(/ globs:f(\d)\.txt:1/, "=$1")).join(" ");
  const found = async (revisions: string): Promise<string> =>
    files(await search(daemon, `repo:^globs$ rev:${revisions} type:file needle`));
  t.equal(await found("*refs/heads/dev*"), "dev=0 dev-old=0 dev-old=1");
  t.equal(await found("*:*!refs/heads/*"), "refs/tags/v1=0 refs/tags/v2=0 refs/tags/v2=1 refs/tags/v2=2");
  t.equal(await found("*:*!refs/tags/*:*!refs/heads/dev*"), "main=0 main=1 main=2");
  t.equal(
    await found(`v1:${commits[0].slice(0, 8)}`),
    `${commits[0].slice(0, 8)}=0 v1=0`,
    "one commit under two names is two results",
  );
  const moment = `"at.time(${new Date(1_700_000_001_000).toISOString().slice(0, 19)}Z)"`.replaceAll('"', "");
  t.equal(await found(moment), `${moment}=0 ${moment}=1`);
  t.equal(await found(moment.replace(")", ", v1)")), `${moment.replace(")", ", v1)")}=0`);
  const repositories = await search(daemon, "repo:^globs$@v1:dev:main");
  t.same(repositories.found, ["dev globs", "main globs", "v1 globs"], "a repository for each revision");

  t.match(await search(daemon, "repo:^globs$@nowhere:v1 type:file needle"), {
    found: ["v1 globs:f0.txt:1"],
    alert:
      /^Some repositories could not be searched: The repository globs matched by your repo: filter could not be searched because it does not contain the revision "nowhere"/,
  });
  t.match(
    (await search(daemon, "repo:^globs$@x:y type:file needle")).alert,
    /1 repository matched .*\n\* globs@x\n\* globs@y$/s,
  );
  t.same(
    await search(daemon, "repo:^empty$@HEAD needle").then(({ alert }) => alert.replace(/:.*/s, "")),
    "",
    "a repository without a commit is chosen, and holds nothing",
  );
  t.match((await search(daemon, "repo:^empty$@v1 needle")).alert, /^Some repositories/);
  t.match(
    await search(daemon, "repo:^globs$@v1:main index:only type:file needle"),
    { found: [0, 1, 2].map((i) => `main globs:f${i}.txt:1`), alert: /revision "v1"/ },
    "index:only",
  );
});

/** Two commits whose oids start with the same four digits; returns these digits. */
function ambiguousStart(source: GitFixture): string {
  const tree = source.git("rev-parse", "main^{tree}");
  const seen = new Map<string, string>();
  for (let i = 0; ; i++) {
    const text = `tree ${tree}\nauthor A <a@example.org> ${i} +0000\ncommitter A <a@example.org> ${i} +0000\n\nalike\n`;
    const start = createHash("sha1").update(`commit ${text.length}\0${text}`).digest("hex").slice(0, 4);
    const other = seen.get(start);
    seen.set(start, text);
    if (other === undefined) continue;
    [other, text].forEach((input, branch) => {
      const oid = execFileSync("git", [`--git-dir=${source.path}`, "hash-object", "-t", "commit", "-w", "--stdin"], {
        input,
        encoding: "utf8",
      }).trim();
      source.updateRef(`refs/heads/alike${branch}`, oid);
    });
    return start;
  }
}

t.test("names that disappear or become ambiguous", async (t) => {
  const source = fixture(t);
  growHistory(source, 6, 5);
  source.updateRef("refs/heads/gone", source.git("rev-parse", "main~2"));
  const start = ambiguousStart(source);
  await daemon.add("alike", source.path);
  t.match(
    await search(daemon, `repo:^alike$@${start}:main~1 type:file needle`),
    {
      found: expected(source, "alike", "main~1", "lines"),
      alert: new RegExp(`id "${start}" is ambiguous: several commits`),
    },
    "the start of two oids names none of them",
  );
  t.match((await search(daemon, `repo:^alike$@${start.toUpperCase()}^0 needle`)).alert, /is ambiguous/, "in capitals");
  t.match(
    (await search(daemon, `repo:^alike$@${start}:nowhere needle`)).alert,
    new RegExp(
      `\\* alike@${start} \\(ambiguous\\)\n\\* alike@nowhere|\\* alike@nowhere\n\\* alike@${start} \\(ambiguous\\)`,
    ),
    "beside one that does not exist",
  );
  t.match(
    (await search(daemon, `type:commit repo:^alike$@main:^${start} x`)).alert,
    /is ambiguous/,
    "excluded commits",
  );
  const query = `{ repository(name: "alike") { commit(rev: "${start}") { oid } } }`;
  const response = await fetch(`${daemon.url}/.api/graphql`, { method: "POST", body: JSON.stringify({ query }) });
  t.match(await response.json(), {
    data: { repository: { commit: null } },
    errors: [{ message: new RegExp(`the commit id "${start}" is ambiguous`) }],
  });
  t.same(
    (await search(daemon, "repo:^alike$@gone type:file needle")).found,
    expected(source, "alike", "gone", "lines"),
  );
  source.deleteBranch("gone");
  await daemon.sync("alike");
  t.match(
    await search(daemon, "repo:^alike$@gone type:file needle"),
    { found: [], alert: /revision "gone"/ },
    "a branch that was deleted",
  );
});

t.test("the branch is force-pushed while commits are searched", async (t) => {
  const source = fixture(t);
  const commits = growHistory(source, 20, 9).slice(0, 15);
  await daemon.add("pushed", source.path);
  const union = commits.flatMap((commit) => expected(source, "pushed", commit, "lines")).sort();
  for (let i = 0; i < 3; i++) {
    source.commit({ branch: "main", orphan: true, files: { [`anew${i}.txt`]: `needle anew ${i}\n` } });
    const [found] = await Promise.all([
      search(daemon, `repo:^pushed$@${commits.join(":")} type:file needle`),
      daemon.sync("pushed"),
    ]);
    t.same([found.found, found.alert, found.skipped], [union, "", []], "the commits are found as they are");
  }
});

t.test("explain", async (t) => {
  const source = fixture(t);
  source.commit({
    branch: "main",
    files: { "same.txt": "needle\n", "changed.txt": "needle of old\n", "moved/from.txt": "needle moves\n" },
  });
  source.commit({
    branch: "main",
    files: { "changed.txt": "needle\n", "moved/from.txt": { deleted: true }, "moved/to.txt": "needle moves\n" },
  });
  await daemon.add("r", source.path);
  const query = "repo:^r$@HEAD~1 type:file needle";
  const explain = async (): Promise<string> =>
    /commits of .*/.exec(String(await daemon.control("POST", "/explain", { query, patternType: "standard" })))?.[0] ??
    "";
  t.equal(
    await explain(),
    "commits of r that are not indexed: 1; documents in shards of the index 1, in the revision cache 0, to be read 2 (27 bytes); phases: 1 of existing shards and 1 of shards to be built",
  );
  t.equal((await search(daemon, query)).found.length, 3);
  const known =
    "commits of r that are not indexed: 1; documents in shards of the index 1, in the revision cache 2, to be read 0 (0 bytes); phases: 1 of existing shards, known from an earlier search";
  // What is known of a shard is forgotten when it is merged with others, in the background.
  let shown = "";
  await until(
    () => `a search is remembered: ${shown}`,
    async () => {
      shown = await explain();
      if (shown !== known) await search(daemon, query);
      return shown === known;
    },
  );
});

t.test("limits, and clients that disconnect", async (t) => {
  const source = fixture(t);
  growHistory(source, 30, 3);
  await daemon.add("limited", source.path);
  const names = Array.from({ length: 25 }, (_, i) => `HEAD~${i}`);
  const newestFirst = source.git("rev-list", "main").split("\n");
  const revisions = names.join(":");
  const limited = await search(daemon, `repo:^limited$@${revisions} type:file count:7 needle`);
  t.match(limited, { matchCount: 7, skipped: ["shard-match-limit"] });
  t.equal(limited.found.length, 7);
  const response = await daemon.openStream(`repo:^limited$@${revisions} type:file needle`);
  response.destroy();
  const all = await search(daemon, `repo:^limited$@${revisions} type:file needle`);
  t.same(all.found, names.flatMap((name, i) => expected(source, "limited", name, "lines", newestFirst[i])).sort());
});

t.test("more text than fits into the cache", async (t) => {
  const source = fixture(t);
  source.commit({ branch: "main", files: { "small.txt": "needle\n" } });
  const line = "some text that fills a file, and nothing to be found in it\n";
  const files = Array.from({ length: 10 }, (_, i): [string, string] => [
    `big${i}.txt`,
    `${line.repeat(34_000)}needle ${i}\n`,
  ]);
  source.updateRef("refs/heads/big", source.git("rev-parse", "main"));
  source.commit({ branch: "big", files: [...files, ["huge.txt", line.repeat(80_000)]] });
  await daemon.add("large", source.path);
  const lines = [...files.map(([path]) => `big large:${path}:34001`), "big large:small.txt:1"].sort();
  for (const what of ["at first", "again"]) {
    const { found, skipped } = await search(daemon, "repo:^large$@big type:file needle");
    t.same(found, lines, what);
    t.same(skipped, [], what);
  }
  t.same(
    (await search(daemon, "repo:^large$@big type:path huge")).found,
    ["big large:huge.txt"],
    "what is too large for it is found by path",
  );
});
