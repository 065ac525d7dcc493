/** The index of histories in a daemon: after force pushes, with limits, while repositories and refs vanish. */
import { execFileSync } from "node:child_process";
import { readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { SseDecoder } from "../../src/cli/connection/sse-decoder.js";
import type { HistoryStatus } from "../../src/model/history-record.js";
import type { StreamMatch } from "../../src/model/stream-events.js";
import { ShardStore } from "../../src/store/shard-store.js";
import { dataDirectory, newestMirror, runCommand, testDaemon, type DaemonProcess } from "../support/daemon.js";
import { inLongRuns, isFull, scaled } from "../support/full-run.js";
import { GitFixture } from "../support/git-fixture.js";
import { ask } from "../support/graphql.js";
import { restartSharedDaemon, sharedDaemon } from "../support/shared-daemon.js";
import { becomes, until } from "../support/waiting.js";

const noSymbols = ["--set", "index.symbols=false"];

/** A repository whose commits each change a line with the needle. */
class Remote {
  readonly git = GitFixture.create();
  #count = 0;

  constructor(t: Test) {
    t.teardown(() => this.git.remove());
  }

  commit(branch: string, count: number, orphan = false): void {
    for (let i = 0; i < count; i++)
      this.git.commit({ branch, files: { [`${i}.txt`]: `needle ${this.#count++}\n` }, orphan: orphan && i === 0 });
  }

  commits(...revisions: string[]): string[] {
    return this.git
      .git("rev-list", ...revisions)
      .split("\n")
      .sort();
  }
}

/** The commits that a search finds, sorted, each as often as it is found; and the alert. */
async function search(daemon: DaemonProcess, query: string): Promise<{ oids: string[]; alert: string }> {
  const { text } = await daemon.get(`/.api/search/stream?${new URLSearchParams({ q: `${query} count:all` })}`);
  const events = new SseDecoder().push(Buffer.from(text));
  const matches = events.filter(({ name }) => name === "matches").map(({ data }) => JSON.parse(data) as StreamMatch[]);
  const alert = events.find(({ name }) => name === "alert")?.data ?? "";
  return { oids: matches.flatMap((found) => found.map(({ oid }) => oid ?? "")).sort(), alert };
}

async function statusOf(daemon: DaemonProcess, name: string): Promise<HistoryStatus | undefined> {
  return (await daemon.list()).find((status) => status.name === name)?.historyIndex;
}

async function untilIndexed(daemon: DaemonProcess, name: string): Promise<HistoryStatus | undefined> {
  await until("its history is indexed", async () => (await statusOf(daemon, name))?.isUpToDate === true);
  return statusOf(daemon, name);
}

/** Deletes an object of the mirror that was made last, whose packs are unpacked first. */
function loseObject(data: string, oid: string): void {
  const mirror = newestMirror(data);
  const objects = join(mirror, "objects");
  for (const file of readdirSync(join(objects, "pack"))) {
    const aside = join(data, file);
    renameSync(join(objects, "pack", file), aside);
    if (file.endsWith(".pack")) execFileSync("sh", ["-c", 'git -C "$1" unpack-objects -q <"$2"', "sh", mirror, aside]);
  }
  rmSync(join(objects, oid.slice(0, 2), oid.slice(2)));
}

t.test("what a mirror has lost of a history is fetched again, and then indexed", async (t) => {
  const remote = new Remote(t);
  remote.commit("main", 3);
  remote.commit("main", 3);
  const daemon = await sharedDaemon(t, {}, noSymbols);
  await daemon.control("POST", "/.api/repos", { name: "host/one", url: remote.git.path, history: "off" });
  // A content that only the history has.
  loseObject(daemon.data, remote.git.git("rev-parse", "main~4:1.txt"));
  await runCommand("repo", "set", "host/one", "--history", "all", "--data", daemon.data);
  const isWhole = async (): Promise<boolean> =>
    (await search(daemon, "repo:one type:diff needle index:only")).oids.join() === remote.commits("main").join();
  await until("all of the history is indexed", isWhole);
  t.match(await untilIndexed(daemon, "host/one"), { reachableCount: 6, indexedCount: 6 });
  t.match((await daemon.get("/.api/search/stream?q=repo:one+type:diff+needle")).text, /"skipped":\[\]/);
});

t.test("force pushes, deleted branches, limits, and what the status says", async (t) => {
  const remote = new Remote(t);
  remote.commit("main", 12);
  remote.git.updateRef("refs/heads/dev", remote.git.git("rev-parse", "main~6"));
  remote.commit("dev", 5);
  const daemon = await sharedDaemon(t, {}, noSymbols);
  const { data } = daemon;
  await daemon.add("host/one", remote.git.path, ["dev"]);
  /** Everything is found with the index and without it; `indexed` of it in the index. */
  const requireAll = async (what: string, branches: string, indexed: readonly string[]): Promise<void> => {
    for (const query of ["type:commit", "type:diff needle"].map((type) => `repo:one@${branches} ${type}`)) {
      const everything = remote.commits("--branches");
      t.same((await search(daemon, query)).oids, everything, `${what}: ${query}`);
      t.same((await search(daemon, `${query} index:no`)).oids, everything, `${what}: ${query}, not indexed`);
      t.same((await search(daemon, `${query} index:only`)).oids, indexed, `${what}: ${query}, only indexed`);
    }
  };
  t.match(await untilIndexed(daemon, "host/one"), { wanted: "all", reachableCount: 17, indexedCount: 17, error: "" });
  await requireAll("at first", "main:dev", remote.commits("--branches"));

  remote.commit("main", 3, true);
  remote.git.deleteBranch("dev");
  await daemon.sync("host/one");
  t.match(await untilIndexed(daemon, "host/one"), { reachableCount: 3, indexedCount: 3 });
  await requireAll("after a force push", "main", remote.commits("--branches"));

  await runCommand("repo", "set", "host/one", "--history", "2 commits", "--data", data);
  t.match(await untilIndexed(daemon, "host/one"), { wanted: "2 commits", reachableCount: 3 });
  t.match(await runCommand("repo", "set", "host/one", "--history", "some", "--data", data), {
    exitCode: 2,
    err: /history/,
  });
  await runCommand("repo", "set", "host/one", "--history", "off", "--data", data);
  t.match(await untilIndexed(daemon, "host/one"), { wanted: "off", reachableCount: null, storedBytes: 0 });
  await requireAll("switched off", "main", []);
  await becomes(t, () => new ShardStore(join(data, "shards")).ids().length, 1, "only the shard of its text is stored");
  await runCommand("repo", "set", "host/one", "--history", "1 commit", "--data", data);
  t.match(await untilIndexed(daemon, "host/one"), { reachableCount: 3, indexedCount: 1 });
  await requireAll("one commit", "main", [remote.git.git("rev-parse", "main")]);

  t.match((await runCommand("repo", "list", "--data", data)).out, /history \(1 commit\): 1 of 3 commits, 0\.\d MB/);
  t.match(JSON.parse((await daemon.get("/readyz")).text), { repositories: [{ history: { commits: 3, indexed: 1 } }] });
  const fields = "wanted upToDate commitsCount indexedCommitsCount indexByteSize lastError";
  t.match(await ask(daemon.url, `{ repository(name: "host/one") { historyIndex { ${fields} } } }`), {
    data: {
      repository: {
        historyIndex: { wanted: "1 commit", upToDate: true, commitsCount: 3, indexedCommitsCount: 1, lastError: null },
      },
    },
  });
  if (!isFull) return;
  const again = await restartSharedDaemon(daemon, "stop");
  t.match(await untilIndexed(again, "host/one"), { wanted: "1 commit", reachableCount: 3, indexedCount: 1 });
});

t.test("repositories that are removed while they are indexed leave nothing in the store", inLongRuns, async (t) => {
  const remote = new Remote(t);
  remote.commit("main", 30);
  const data = dataDirectory(t);
  const daemon = await testDaemon(t, noSymbols, data);
  for (let i = 0; i < scaled(2, 20); i++) {
    await daemon.add(`host/${i}`, remote.git.path);
    await daemon.remove(`host/${i}`);
  }
  await daemon.add("host/last", remote.git.path);
  await untilIndexed(daemon, "host/last");
  await becomes(t, () => new ShardStore(join(data, "shards")).ids().length, 2, "one for its text, one for its history");
  t.same((await search(daemon, "type:diff needle index:only")).oids, remote.commits("main"));
});

t.test("refs and repositories that vanish during searches", async (t) => {
  const remote = new Remote(t);
  remote.commit("main", 10);
  const daemon = await sharedDaemon(t, {}, noSymbols);
  await daemon.add("host/one", remote.git.path, ["dev"]);
  for (let round = 0; round < scaled(2, 20); round++) {
    remote.git.updateRef("refs/heads/dev", remote.git.git("rev-parse", "main~8"));
    remote.commit("dev", 3);
    await daemon.sync("host/one");
    const onDev = remote.commits("dev");
    remote.git.deleteBranch("dev");
    const index = round % 2 === 0 ? "" : "index:no";
    const [, ...found] = await Promise.all([
      daemon.sync("host/one"),
      ...Array.from({ length: 3 }, () => search(daemon, `type:diff needle rev:dev ${index}`)),
    ]);
    for (const { oids, alert } of found) {
      if (oids.length === 0) t.not(alert, "", "the revision does not exist any more");
      else t.same(oids, onDev);
    }
  }
  const [, found] = await Promise.all([daemon.remove("host/one"), search(daemon, "type:diff needle index:no")]);
  t.ok(
    found.oids.length === 0 || found.oids.length === 10 || found.alert !== "",
    "all, nothing, or it says what lacks",
  );
});

t.test(
  "who changed which files is answered by the index, as git does, and without reading trees of the mirror",
  async (t) => {
    const remote = new Remote(t);
    const { git } = remote;
    const authors = ["Ann <ann@one.test>", "Ben <ben@two.test>", "J\u00f6rg <j@one.test>"];
    const commit = (branch: string, author: number, files: Record<string, string>): string =>
      git.commit({ branch, files, author: `${authors[author]} ${1_600_000_000 + author} +0000` });
    commit("main", 0, { "a/one.txt": "1\n", "empty.txt": "", "binary.bin": "\0\0\0", "old.txt": "moved\n" });
    commit("main", 1, { "a/one.txt": "2\n", "b.txt": "b\n" });
    git.updateRef("refs/heads/dev", git.git("rev-parse", "main"));
    commit("dev", 2, { "a/dev.txt": "d\n", "b.txt": "dev\n" });
    commit("main", 0, { "c \u00e9.txt": "c\n" });
    const tree = git.git("rev-parse", "dev^{tree}");
    const merge = ["commit-tree", tree, "-p", "main", "-p", "dev", "-m", "merge"];
    git.updateRef("refs/heads/main", git.git("-c", "user.name=Merger", "-c", "user.email=m@three.test", ...merge));
    commit("main", 2, { "new.txt": "moved\n", "empty.txt": "1" });
    const daemon = await sharedDaemon(t, {}, noSymbols);
    await daemon.add("host/one", git.path);
    await untilIndexed(daemon, "host/one");
    // `git log` with names needs the trees of all commits; the index does not.
    loseObject(daemon.data, git.git("rev-parse", "main~2^{tree}"));
    const present = new Set(git.git("ls-tree", "-r", "-z", "--name-only", "main").split("\0"));
    for (const pattern of ["^Ann$", "@one", "ben", "J\u00f6rg", "Merger", "nobody"]) {
      const log = git.git(
        "log",
        "-z",
        "--no-renames",
        "--name-only",
        "--format=",
        `--author=${naiveAuthor(pattern)}`,
        "main",
      );
      const expected = [...new Set(log.split("\0"))].filter((path) => path !== "" && present.has(path)).sort();
      const query = new URLSearchParams({ q: `type:path file:has.contributor(${pattern}) count:all` });
      const events = new SseDecoder().push(Buffer.from((await daemon.get(`/.api/search/stream?${query}`)).text));
      const found = events
        .filter(({ name }) => name === "matches")
        .flatMap(({ data }) => JSON.parse(data) as StreamMatch[]);
      t.same(found.map(({ path }) => path).sort(), expected, pattern);
      t.notOk(
        events.some(({ name, data }) => name === "alert" && data.includes("host/one")),
        "nothing is left out",
      );
    }
  },
);

/** git looks for the pattern in `NAME <ADDRESS>`. */
function naiveAuthor(pattern: string): string {
  return pattern === "^Ann$" ? "^Ann <" : pattern === "ben" ? "[Bb]en" : pattern;
}
