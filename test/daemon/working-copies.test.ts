/** Uncommitted files of the repositories of a folder are searchable as a revision. */
import { execFileSync } from "node:child_process";
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { resolveOptions } from "../../src/daemon/config/config.js";
import { dataDirectory, textsOnly } from "../support/daemon.js";
import { GraphqlSite } from "../support/graphql-site.js";
import { becomes } from "../support/waiting.js";

t.test("a folder with working copies", async (t) => {
  const root = dataDirectory(t);
  const app = join(root, "folder/app");
  mkdirSync(app, { recursive: true });
  const git = (...args: string[]): string =>
    execFileSync("git", ["-C", app, "-c", "user.name=ann", "-c", "user.email=b", ...args], { encoding: "utf8" });
  git("init", "-q", "-b", "main");
  writeFileSync(join(app, "a.txt"), "alpha committed\n");
  git("add", "-A");
  git("commit", "-qm", "one");
  const local = {
    name: "local",
    kind: "folder",
    url: join(root, "folder"),
    workingCopies: true,
    workingCopyInterval: 1,
  };
  const site = await GraphqlSite.start(t, { connections: [local] }, textsOnly);
  const { daemon } = site;
  const found = async (query: string) => (await daemon.search(query)).found.join();
  await becomes(t, () => found("repo:app rev:working-copy alpha"), "app:a.txt:1", "without changes, it is as HEAD");
  writeFileSync(join(app, "a.txt"), "alpha committed\nalpha changed\n");
  mkdirSync(join(app, "new"));
  writeFileSync(join(app, "new/b.txt"), "alpha untracked\n");
  await becomes(
    t,
    () => found("repo:app rev:working-copy alpha"),
    "app:a.txt:1,app:a.txt:2,app:new/b.txt:1",
    "changes and new files",
  );
  t.equal(await found("alpha"), "app:a.txt:1", "without the revision, what is committed is searched");
  t.equal(await found("repo:^app$@main:working-copy untracked"), "app:new/b.txt:1");
  await t.test("where it is told what it is", async (t) => {
    const query = `{ repository(name: "app") { commit(rev: "working-copy") { message author { person { name } }
      blob(path: "a.txt") { content blame(startLine: 1, endLine: 2) { author { person { name } } } } parents { oid } } } }`;
    const { data } = await site.ask("admin", query);
    t.match(data, {
      repository: {
        commit: {
          message: /not a commit of the repository/,
          author: { person: { name: "working copy" } },
          blob: { blame: [{ author: { person: { name: "ann" } } }, { author: { person: { name: "working copy" } } }] },
          parents: [{ oid: git("rev-parse", "HEAD").trim() }],
        },
      },
    });
    const stream = await daemon.get(
      `/.api/search/stream?q=${encodeURIComponent("repo:app rev:working-copy changed")}&receipt=1`,
    );
    t.match(stream.text, /"revision":"working-copy"/, "a receipt");
    t.equal(await found("repo:app rev:main type:diff untracked"), "", "the history of the branch is without it");
    t.notMatch(git("for-each-ref"), "working-copy", "nothing is written to the folder");
  });
  await t.test("a commit, and a folder that vanishes and comes back", async (t) => {
    git("add", "a.txt");
    git("commit", "-qm", "two");
    await becomes(t, () => found("alpha changed"), "app:a.txt:2", "the commit");
    await becomes(
      t,
      () => found("repo:app rev:working-copy alpha"),
      "app:a.txt:1,app:a.txt:2,app:new/b.txt:1",
      "the rest",
    );
    renameSync(app, `${root}/away`);
    await becomes(t, async () => (await daemon.list())[0]?.error !== "", true, "it is noticed");
    t.equal(
      await found("repo:app rev:working-copy alpha"),
      "app:a.txt:1,app:a.txt:2,app:new/b.txt:1",
      "nothing is lost",
    );
    renameSync(`${root}/away`, app);
    rmSync(join(app, "new"), { recursive: true });
    await becomes(t, () => found("repo:app rev:working-copy alpha"), "app:a.txt:1,app:a.txt:2", "it goes on");
  });
});

t.test("configurations that are refused", async (t) => {
  const configFile = join(t.testdir(), "trawl.jsonc");
  const resolve = (item: object) => {
    writeFileSync(configFile, JSON.stringify({ connections: [{ name: "x", ...item }] }));
    return resolveOptions({ configFile, overrides: [], repositories: [] }).connections[0];
  };
  const message = /workingCopies is only for folder/;
  t.throws(() => resolve({ kind: "list", url: "/l", workingCopies: true }), { code: "bad-config", message });
  t.match(resolve({ kind: "folder", url: "/f", workingCopies: true }), { workingCopySeconds: 5 });
});
