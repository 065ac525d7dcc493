/** Contents of Git LFS are searched and shown in place of their pointers. */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import t, { type Test } from "tap";
import type { RepositoryStatus } from "../../src/model/repository-status.js";
import { newestMirror, textsOnly } from "../support/daemon.js";
import { fixture, pruneMirror } from "../support/git-mirror.js";
import { GraphqlSite } from "../support/graphql-site.js";
import { LfsDouble, pointer, sha256 } from "../support/lfs-server.js";
import { configure } from "../support/shared-daemon.js";

const attributes = "*.dat filter=lfs diff=lfs merge=lfs -text\nplain.dat -filter\n";

t.test("contents of a server are searched and shown", async (t) => {
  const source = fixture(t);
  const double = await LfsDouble.start(t, source);
  const late = "needle late\n";
  const lateOther = "needle late on other\n";
  const old = double.add("first line\nneedle old\n");
  const first = source.commit({
    branch: "main",
    files: {
      ".gitattributes": attributes,
      "a.dat": old,
      "docs.txt": pointer("an old example"),
      "later.bin": pointer("in LFS later"),
    },
  });
  const ruled = source.commit({
    branch: "main",
    files: { ".gitattributes": `${attributes}*.bin filter=lfs\n`, "docs.txt": pointer("an older example") },
  });
  const main = source.commit({
    branch: "main",
    files: {
      ".gitattributes": attributes,
      "later.bin": { deleted: true },
      "a.txt": "needle plain\n",
      "a.dat": double.add("first line\nneedle in lfs\n"),
      "b/c.dat": pointer(late),
      "plain.dat": pointer("an example"),
      "docs.txt": pointer("another example"),
      "big.dat": pointer("x").replace("size 1", "size 123456789"),
    },
  });
  source.updateRef("refs/heads/other", main);
  const other = source.commit({
    branch: "other",
    files: { "a.dat": double.add("needle on other\n"), "o.dat": pointer(lateOther) },
  });
  const app = (lfs: boolean) => ({ name: "app", url: double.url, lfs });
  const site = await GraphqlSite.start(t, { repositories: [app(true)] }, textsOnly);
  const { daemon } = site;
  const found = async (query: string) => (await daemon.search(`repo:^app$ ${query}`)).found.join();
  const leftOut = async (revision: string): Promise<readonly string[]> => {
    const query = new URLSearchParams({ v: "V3", receipt: "1", q: `repo:^app$@${revision} needle count:all` });
    const { text } = await daemon.get(`/.api/search/stream?${query}`);
    return [...text.matchAll(/"reason":"lfs","repository":"app","path":"([^"]+)"/g)]
      .map(([, path = ""]) => path)
      .sort();
  };
  const status = await daemon.sync("app");
  t.equal(await found("needle"), "app:a.dat:2,app:a.txt:1", "the indexed branch");
  t.equal(await found("oid"), "app:docs.txt:2,app:plain.dat:2", "what git-lfs would leave alone stays as it is");
  t.same(
    [...status.warnings].sort(),
    [
      'Git LFS: the contents of 1 file are left out, such as "big.dat": they are larger than index.maxFileBytes',
      'Git LFS: the contents of 2 files are left out, such as "b/c.dat": the server of Git LFS answered 404 for it',
    ],
    "what is missing is told",
  );
  t.equal(status.skippedCounts["lfs"], 2);
  t.same(await leftOut("main"), ["b/c.dat", "big.dat"], "a receipt names it");
  t.equal(await found(`rev:${other} needle`), "app:a.dat:1,app:a.txt:1", "a commit that only another branch has");
  t.equal(await found(`rev:${first} needle`), "", "contents of an older commit are not fetched");
  t.same(await leftOut(first), ["a.dat"], "which is told");
  t.equal(
    await found(`rev:${first} oid`),
    "app:docs.txt:2,app:later.bin:2",
    "what has no attribute stays as it is, too",
  );
  t.same(await leftOut(ruled), ["a.dat", "later.bin"], "the attributes of that commit count");
  t.equal(await found(`rev:${ruled} oid`), "app:docs.txt:2");
  t.equal(await found(`repo:has.content(older.example) rev:${ruled} oid`), "");
  t.match(await found(`repo:has.content(sha256) rev:${first} oid`), "docs.txt");
  t.equal(await found(`repo:has.file(path:bin content:sha256) rev:${ruled} oid`), "", "as in searches");
  t.match(await found(`repo:has.file(path:bin content:sha256) rev:${first} oid`), "docs.txt");
  await t.test("it is shown", async (t) => {
    const query = `{ repository(name: "app") { commit(rev: "main") {
      blob(path: "a.dat") { content byteSize totalLines lfs { byteSize } } lost: blob(path: "b/c.dat") { content lfs { byteSize } }
      tree { files { name byteSize } } } } }`;
    const { data } = await site.ask("admin", query);
    t.match(data, {
      repository: {
        commit: {
          blob: { content: "first line\nneedle in lfs\n", byteSize: 25, totalLines: 2, lfs: { byteSize: "25" } },
          lost: { content: pointer(late), lfs: { byteSize: "12" } },
        },
      },
    });
    t.match(JSON.stringify(data), '{"name":"a.dat","byteSize":25}');
    t.equal((await daemon.get("/app@main/-/raw/a.dat")).text, "first line\nneedle in lfs\n");
    t.equal((await daemon.get(`/app@${first}/-/raw/a.dat`)).text, old, "without contents, the pointer");
    t.equal(await found("repo:has.content(lfs) needle"), "app:a.dat:2,app:a.txt:1");
    t.equal(await found(`repo:has.content(other) rev:${other} needle`), "app:a.dat:1,app:a.txt:1");
  });
  await t.test("what comes later is found", async (t) => {
    t.same(await leftOut(other), ["b/c.dat", "big.dat", "o.dat"]);
    t.equal((await daemon.get("/app@other/-/raw/o.dat")).text, pointer(lateOther));
    double.add(late);
    double.add(lateOther);
    // Its first answer does not come: the sync is tried again on a thread for slow remotes.
    double.faults.batch = () => {
      double.faults = {};
      return true;
    };
    const { warnings, skippedCounts } = await daemon.sync("app");
    t.equal(await found("needle"), "app:a.dat:2,app:a.txt:1,app:b/c.dat:1");
    t.equal(
      await found(`rev:${other} needle`),
      "app:a.dat:1,app:a.txt:1,app:b/c.dat:1,app:o.dat:1",
      "the same search as before of a commit that is not indexed",
    );
    t.same(await leftOut(other), ["big.dat"]);
    t.equal((await daemon.get("/app@other/-/raw/o.dat")).text, lateOther, "the same page");
    t.equal(warnings.length, 1);
    t.equal(skippedCounts["lfs"], 1);
    t.equal(await daemon.countFaults(), 0, "`trawl check` finds nothing");
    const count = double.seen.length;
    await daemon.sync("app");
    t.equal(double.seen.length, count, "nothing is asked for without need");
    const more = double.add("needle more\n");
    source.commit({
      branch: "main",
      files: { "b/c.dat": more, "d/.gitattributes": "*.bin filter=lfs\n", "d/e.bin": more },
    });
    await daemon.sync("app");
    t.equal(await found("needle"), "app:a.dat:2,app:a.txt:1,app:b/c.dat:1,app:d/e.bin:1", "a change");
    t.equal(await daemon.countFaults(), 0);
  });
  await t.test(
    "git keeps contents in the mirror, and they are fetched again where the mirror has lost them",
    async (t) => {
      const mirror = newestMirror(daemon.data);
      const git = (...args: string[]): string =>
        execFileSync("git", [`--git-dir=${mirror}`, ...args], { encoding: "utf8" });
      await pruneMirror(mirror);
      t.equal((await daemon.get("/app@main/-/raw/a.dat")).text, "first line\nneedle in lfs\n");
      const count = double.seen.length;
      await daemon.sync("app");
      t.equal(double.seen.length, count);
      git("update-ref", "-d", "refs/trawl/lfs");
      await pruneMirror(mirror);
      await daemon.sync("app");
      t.equal((await daemon.get("/app@main/-/raw/a.dat")).text, "first line\nneedle in lfs\n");
      t.equal(await found("needle"), "app:a.dat:2,app:a.txt:1,app:b/c.dat:1,app:d/e.bin:1");
      t.equal(await daemon.countFaults(), 0);
    },
  );
  await t.test("without the option there are pointers again", async (t) => {
    await configure(daemon, { repositories: [app(false)] });
    const { warnings, skippedCounts } = await daemon.sync("app");
    t.same(warnings, []);
    t.same(skippedCounts, {});
    t.equal(await found("needle"), "app:a.txt:1");
    t.equal(await found(`rev:${other} needle`), "app:a.txt:1");
    t.match(await found(`rev:${other} oid`), "app:o.dat:2");
    t.equal((await daemon.get("/app@other/-/raw/o.dat")).text, pointer(lateOther));
    t.equal((await daemon.get("/app@main/-/raw/a.dat")).text, pointer("first line\nneedle in lfs\n"));
    await daemon.sync("app");
    t.notMatch(
      execFileSync("git", [`--git-dir=${newestMirror(daemon.data)}`, "for-each-ref"], { encoding: "utf8" }),
      "lfs",
    );
    t.equal(await daemon.countFaults(), 0);
  });
});

t.test("pointers in submodules are left out", async (t) => {
  const [source, lib] = [fixture(t), fixture(t)];
  const double = await LfsDouble.start(t, source);
  const files = { ".gitattributes": attributes, "a.dat": double.add("needle\n") };
  const pin = lib.commit({ branch: "main", files: { ...files, "l.dat": pointer("needle of the lib") } });
  const settings = `[submodule "lib"]\n\tpath = lib\n\turl = ${lib.path}\n`;
  source.commit({ branch: "main", files: { ...files, lib: { gitlink: pin }, ".gitmodules": settings } });
  const item = { name: "outer", url: double.url, lfs: true, submodules: true, submodulesFrom: [dirname(lib.path)] };
  const { daemon } = await GraphqlSite.start(t, { repositories: [item] }, textsOnly);
  const { warnings, skippedCounts } = await daemon.sync("outer");
  t.same(warnings, [
    'Git LFS: the contents of 1 file are left out, such as "lib/l.dat": they are in a submodule, whose contents of Git LFS are not fetched',
  ]);
  t.equal(skippedCounts["lfs"], 1);
  t.equal((await daemon.search("repo:^outer$ needle")).found.join(), "outer:a.dat:1,outer:lib/a.dat:1");
});

t.test("of too many pointers, the others are left out", async (t) => {
  const source = fixture(t);
  const double = await LfsDouble.start(t, source);
  const [a, b, c, d] = ["a", "b", "c", "d"].map((name) => double.add(`needle ${name}\n`));
  const many = source.commit({
    branch: "main",
    files: { ".gitattributes": attributes, "a.dat": a, "b.dat": b, "c.dat": c, "d.dat": d, "docs.txt": pointer("x") },
  });
  const repositories = [{ name: "many", url: double.url, lfs: true }];
  const { daemon } = await GraphqlSite.start(t, { repositories }, [...textsOnly, "--set", "git.maxLfsPointers=2"]);
  const found = async (query: string) => (await daemon.search(`repo:^many$ ${query}`)).found;
  const leftOut = async (revision: string): Promise<number> => {
    const query = new URLSearchParams({ receipt: "1", q: `repo:^many$@${revision} needle count:all` });
    return (await daemon.get(`/.api/search/stream?${query}`)).text.split('"reason":"lfs"').length - 1;
  };
  const check = async (t: Test, revision: string, count: number): Promise<void> => {
    t.equal((await found(`rev:${revision} needle`)).length, 2, "as many as the limit have contents");
    t.same(await found(`rev:${revision} oid`), ["many:docs.txt:2"], "the others are no text");
    t.equal(await leftOut(revision), count, "they are gaps");
  };
  const status = await daemon.sync("many");
  t.match(status.warnings, [
    /the contents of 2 pointers are left out, because there are more than git\.maxLfsPointers/,
  ]);
  t.equal(status.skippedCounts["lfs"], 2);
  await check(t, "HEAD", 2);
  source.commit({
    branch: "main",
    files: { "e.dat": double.add("needle e\n"), "docs.dat": pointer("x"), "sub/.gitattributes": "*.txt filter=lfs\n" },
  });
  const next = await daemon.sync("many");
  t.equal(next.skippedCounts["lfs"], 4, "after a change");
  await check(t, "HEAD", 4);
  await check(t, many, 2);
  source.commit({ branch: "main", files: { ".gitattributes": `${attributes}*.txt filter=lfs\n` } });
  await daemon.sync("many");
  t.equal(await leftOut("HEAD"), 5, "after a change of the attributes");
  t.same(await found("oid"), []);
  source.commit({ branch: "main", files: { ".gitattributes": "# none\n" } });
  await daemon.sync("many");
  t.equal(await leftOut("HEAD"), 0);
  t.equal((await found("oid")).length, 5);
  t.equal(await daemon.countFaults(), 0);
});

t.test("contents make room, and what is forgotten is told", async (t) => {
  const source = fixture(t);
  const double = await LfsDouble.start(t, source);
  const text = (word: string): string => `needle ${word}\n`.padEnd(600, "x");
  const main = source.commit({
    branch: "main",
    files: { ".gitattributes": attributes, "a.dat": double.add(text("a")) },
  });
  source.updateRef("refs/heads/other", main);
  const other = source.commit({ branch: "other", files: { "o.dat": double.add(text("other")) } });
  const twice = double.add(pointer(text("a")));
  const long = `${"long/".repeat(60)}l.dat`;
  source.commit({ branch: "main", files: { "twice.dat": twice, [long]: pointer("lost") } });
  const repositories = [{ name: "room", url: double.url, lfs: true }];
  const { daemon } = await GraphqlSite.start(t, { repositories }, [...textsOnly, "--set", "git.maxLfsBytes=1500"]);
  const found = async (query: string) => (await daemon.search(`repo:^room$ ${query}`)).found.join();
  const first = await daemon.sync("room");
  t.match(
    [...first.warnings].sort().join("\n"),
    /such as "(long\/){40}…": .* 404 for it\n.*"twice.dat": they are a pointer of Git LFS themselves$/,
  );
  t.equal(await found("needle"), "room:a.dat:1");
  t.equal(await found(`rev:${other} needle`), "room:a.dat:1,room:o.dat:1");
  source.commit({ branch: "main", files: { "b.dat": double.add(text("b")) } });
  for (const step of ["at once", "after another sync"]) {
    const { warnings } = await daemon.sync("room");
    t.equal(await found("needle"), "room:a.dat:1,room:b.dat:1", step);
    t.equal(await found(`rev:${other} needle`), "room:a.dat:1", step);
    t.equal(await found(`rev:${other} oid`), "", `${step}: a pointer that has lost its contents is no text`);
    t.match(warnings.join("\n"), /"o\.dat": the contents of this repository together are larger/, step);
  }
});

t.test("contents of a repository on this machine are read from its folder", async (t) => {
  const source = fixture(t);
  const contents = "needle in a folder\n";
  const place = (text: string, bytes: string): void => {
    const oid = sha256(text);
    const path = join(source.path, "lfs/objects", oid.slice(0, 2), oid.slice(2, 4), oid);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, bytes);
  };
  place(contents, contents);
  place("needle truth\n", "needle false\n");
  source.commit({
    branch: "main",
    files: {
      ".gitattributes": attributes,
      "a.dat": pointer(contents),
      "b.dat": pointer("needle truth\n"),
      "c.dat": pointer("gone"),
    },
  });
  const { daemon } = await GraphqlSite.start(t, {}, textsOnly);
  const repository = { name: "app", url: source.path, branches: [], lfs: true };
  const { warnings } = (await daemon.control("POST", "/.api/repos", repository)) as RepositoryStatus;
  t.equal((await daemon.search("needle")).found.join(), "app:a.dat:1");
  t.same([...warnings].sort(), [
    'Git LFS: the contents of 1 file are left out, such as "b.dat": lfs/objects of the repository has others under their name',
    'Git LFS: the contents of 1 file are left out, such as "c.dat": they are not in lfs/objects of the repository',
  ]);
});
