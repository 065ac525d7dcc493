/**
 * After every kind of change: search(needle, index) == the lines with the needle in `git cat-file` of the same commit,
 * on each indexed branch.
 */
import { renameSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { ShardStore } from "../../../src/store/shard-store.js";
import { textsOnly, type DaemonProcess } from "../../support/daemon.js";
import { fixture } from "../../support/git-mirror.js";
import { ask } from "../../support/graphql.js";
import type { GitFixture, FixtureFile, FixtureFiles } from "../../support/git-fixture.js";
import { isFull, scaled } from "../../support/full-run.js";
import { randomFrom } from "../../support/random.js";
import { linesWith, pathsWith, readCommit, type CommitContent } from "../../support/git-oracle.js";
import { restartSharedDaemon, sharedDaemon } from "../../support/shared-daemon.js";
import { until } from "../../support/waiting.js";
import { seed } from "../../support/property.js";

/** Contained in every file of these tests; `.txt` is in every path. */
const needle = "needle";
const pathNeedle = ".txt";

/** Of the daemon of all tests. */
const tellsMerges = [...textsOnly, "--set", "log.level=debug"];

const empty: CommitContent = { files: new Map(), paths: [] };

/** A daemon with one repository, and comparisons of the two. */
class Scene {
  readonly name: string;
  readonly source: GitFixture;
  readonly daemon: DaemonProcess;

  constructor(name: string, source: GitFixture, daemon: DaemonProcess) {
    this.name = name;
    this.source = source;
    this.daemon = daemon;
  }

  /** Syncs, and compares every branch with git. `head` is also searched without a revision. */
  async syncAndCompare(t: Test, what: string, branches: readonly string[], head = "main"): Promise<void> {
    const status = await this.daemon.sync(this.name);
    t.equal(status.error, "", `${what}: no error`);
    await this.compare(t, what, branches, head);
  }

  async compare(t: Test, what: string, branches: readonly string[], head = "main"): Promise<void> {
    const commits = this.#commits();
    const contentOf = (branch: string): CommitContent => {
      const commit = commits.get(branch);
      return commit === undefined ? empty : readCommit(this.source.path, commit);
    };
    await this.#compareOne(t, `${what}: default branch`, "", contentOf(head));
    for (const branch of branches) await this.#compareOne(t, `${what}: ${branch}`, `@${branch}`, contentOf(branch));
    // Each of them in a long run.
    for (const branch of isFull ? branches : branches.slice(-1))
      await this.#comparePaths(t, `${what}: ${branch}`, `@${branch}`, contentOf(branch));
    if (isFull || branches.length === 0) await this.#comparePaths(t, `${what}: default branch`, "", contentOf(head));
  }

  async #compareOne(t: Test, what: string, revision: string, content: CommitContent): Promise<void> {
    const repository = `repo:^${this.name}$${revision}`;
    const lines = await this.daemon.search(`${repository} type:file ${needle}`);
    t.same(lines.found, linesWith(this.name, content, needle), what);
    t.same(
      lines.skipped.filter((reason) => reason !== "repository-missing"),
      [],
      `${what}: nothing skipped`,
    );
  }

  async #comparePaths(t: Test, what: string, revision: string, content: CommitContent): Promise<void> {
    const paths = await this.daemon.search(`repo:^${this.name}$${revision} type:path ${pathNeedle}`);
    t.same(paths.found, pathsWith(this.name, content, pathNeedle), `${what}: paths`);
  }

  /** By branch. */
  #commits(): ReadonlyMap<string, string> {
    const refs = this.source.git("for-each-ref", "--format=%(refname:lstrip=2) %(objectname)", "refs/heads");
    return new Map(refs.split("\n").map((ref) => ref.split(" ") as [string, string]));
  }
}

const text = (label: string, lineCount = 3): string =>
  Array.from({ length: lineCount }, (_, i) => (i % 2 === 0 ? `${label} ${needle} ${i}\n` : `${label} ${i}\n`)).join("");

const start: FixtureFiles = {
  "a.txt": text("a"),
  "dir/b.txt": text("b"),
  "dir/deep/c.txt": text("c", 40),
  "same-1.txt": text("same"),
  "same-2.txt": text("same"),
  "binary.txt": Buffer.from(`${needle}\0`),
  "empty.txt": "",
  "link.txt": { symlink: "a.txt" },
};

/** Each one is a commit on `main`, on top of the previous ones. */
const changes: readonly (readonly [what: string, files: FixtureFiles])[] = [
  ["one file changed", { "a.txt": text("a2", 5) }],
  ["a file added", { "new.txt": text("new") }],
  ["a file deleted", { "dir/b.txt": { deleted: true } }],
  ["a file renamed", { "new.txt": { deleted: true }, "dir/renamed.txt": text("new") }],
  ["a file renamed and changed", { "dir/renamed.txt": { deleted: true }, "changed.txt": text("new2") }],
  ["only a mode changed", { "a.txt": { executable: text("a2", 5) } }],
  ["a file becomes a symbolic link", { "changed.txt": { symlink: needle } }],
  ["a symbolic link becomes a file", { "link.txt": text("link") }],
  ["a link becomes a file with the same blob", { "changed.txt": needle }],
  ["a file becomes a folder", { "a.txt": { deleted: true }, "a.txt/inner.txt": text("inner") }],
  ["a folder becomes a file", { "a.txt/inner.txt": { deleted: true }, "a.txt": text("outer") }],
  ["a file becomes a submodule", { "a.txt": { gitlink: "1".repeat(40) } }],
  [
    "the same blob on many paths",
    Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`many/${i}.txt`, text("same")])),
  ],
  [
    "half of these paths go",
    Object.fromEntries(Array.from({ length: 25 }, (_, i) => [`many/${i * 2}.txt`, { deleted: true } as FixtureFile])),
  ],
  ["one of these paths changes", { "many/1.txt": text("other") }],
  ["text becomes binary", { "dir/deep/c.txt": Buffer.from(`${needle}\0${needle}`) }],
  ["binary becomes text", { "binary.txt": text("binary") }],
  ["a file is emptied", { "same-1.txt": "" }],
  ["an empty file gets text", { "empty.txt": text("full") }],
  ["an empty commit", {}],
];

/** Successive changes of different paths, which one commit can make. */
function groupChanges(): (typeof changes)[number][][] {
  const groups: (typeof changes)[number][][] = [];
  let changed: string[] = [];
  for (const change of changes) {
    const paths = Object.keys(change[1]);
    const overlaps = paths.some((path) =>
      changed.some((other) => path === other || path.startsWith(`${other}/`) || other.startsWith(`${path}/`)),
    );
    if (groups.length === 0 || overlaps || paths.length === 0) {
      groups.push([]);
      changed = [];
    }
    groups.at(-1)!.push(change);
    changed.push(...paths);
  }
  return groups;
}

t.test("each kind of change on one branch", async (t) => {
  const source = fixture(t);
  source.commit({ branch: "main", files: start });
  const scene = new Scene("host/one", source, await sharedDaemon(t, {}, tellsMerges));
  await scene.daemon.add(scene.name, source.path);
  await scene.compare(t, "first index", []);
  for (const group of isFull ? changes.map((change) => [change]) : groupChanges()) {
    source.commit({ branch: "main", files: Object.assign({}, ...group.map(([, files]) => files)) as FixtureFiles });
    await scene.syncAndCompare(t, group.map(([what]) => what).join(", "), []);
  }
  const { documentCount } = (await scene.daemon.list())[0]!;
  t.equal(documentCount, readCommit(source.path, "main").paths.length, "documents are counted right after all that");
});

t.test("branches", async (t) => {
  const source = fixture(t);
  source.commit({ branch: "main", files: start });
  source.updateRef("refs/heads/dev", source.git("rev-parse", "main"));
  source.commit({ branch: "dev", files: { "dev.txt": text("dev"), "a.txt": text("a of dev") } });
  const scene = new Scene("host/branches", source, await sharedDaemon(t, {}, tellsMerges));
  await scene.daemon.add(scene.name, source.path, ["dev", "later", "gone"]);
  await scene.compare(t, "two branches", ["main", "dev"]);

  const stored = await scene.daemon.metric("trawl_index_content_bytes");
  const distinct = new Map(
    ["main", "dev"].flatMap((branch) =>
      [...readCommit(source.path, branch).files.values()].map((bytes) => [bytes.toString("latin1"), bytes]),
    ),
  );
  distinct.delete(`${needle}\0`);
  t.equal(
    stored,
    [...distinct.values()].reduce((sum, bytes) => sum + bytes.length, 0),
    "a blob at two branches is stored once",
  );

  source.updateRef("refs/heads/later", source.git("rev-parse", "dev"));
  await scene.syncAndCompare(t, "a configured branch appears", ["main", "dev", "later"]);
  source.commit({ branch: "later", files: { "later.txt": text("later") } });
  source.commit({ branch: "main", files: { "dir/b.txt": text("b of main") } });
  await scene.syncAndCompare(t, "two branches move at once", ["main", "dev", "later"]);
  source.commit({ branch: "dev", files: { "a.txt": text("forced") }, orphan: true });
  await scene.syncAndCompare(t, "a branch is forced to other history", ["main", "dev", "later"]);
  source.commit({ branch: "main", files: { "z.txt": text("z") }, orphan: true });
  source.git("reflog", "expire", "--expire=now", "--all");
  source.git("gc", "-q", "--prune=now");
  await scene.syncAndCompare(t, "the default branch is forced, the old commits are pruned", ["main", "dev", "later"]);
  source.deleteBranch("later");
  await scene.syncAndCompare(t, "a branch is deleted", ["main", "dev"]);
  const { documentCount } = (await scene.daemon.list())[0]!;
  t.equal(documentCount, documentsOf(source, ["main", "dev"]), "its documents are not counted any more");
  t.match(
    (await scene.daemon.search(`repo:^${scene.name}$@later ${needle}`)).alert,
    /could not be searched/,
    "asking for it is told",
  );
  source.updateRef("refs/heads/trunk", source.git("rev-parse", "main"));
  source.setHead("trunk");
  source.deleteBranch("main");
  await scene.syncAndCompare(t, "the default branch is renamed", ["trunk", "dev"], "trunk");
  source.commit({ branch: "trunk", files: { "z.txt": text("z of trunk") } });
  await scene.syncAndCompare(t, "the renamed branch moves", ["trunk", "dev"], "trunk");
  source.updateRef("refs/heads/gone", source.git("rev-parse", "dev"));
  source.commit({ branch: "gone", files: { "gone.txt": text("gone") } });
  await scene.syncAndCompare(t, "another configured branch appears", ["trunk", "dev", "gone"], "trunk");
  source.setHead("dev");
  await scene.syncAndCompare(t, "HEAD names another branch", ["dev", "gone"], "dev");
  for (const branch of ["dev", "trunk", "gone"]) source.deleteBranch(branch);
  await t.rejects(scene.daemon.sync(scene.name), {
    message: /lists no branches any more: the index and the mirror are kept/,
  });
  const kept = await scene.daemon.search(`repo:^${scene.name}$ ${needle}`);
  t.ok(kept.found.length > 0, "what was indexed is searched");
  await scene.daemon.control("POST", `/.api/repos/${encodeURIComponent(scene.name)}/sync`, { acceptEmpty: true });
  await scene.compare(t, "the repository is emptied", [], "dev");
  t.equal((await scene.daemon.list())[0]!.documentCount, 0, "and counts no documents");
  source.setHead("main");
  source.commit({ branch: "main", files: start });
  await scene.syncAndCompare(t, "the repository is filled again", ["main"]);
  t.equal((await scene.daemon.list())[0]!.documentCount, documentsOf(source, ["main"]));
});

/** The number of distinct pairs of path and blob, which equals the number of documents in the index. */
function documentsOf(source: GitFixture, branches: readonly string[]): number {
  return new Set(branches.flatMap((branch) => source.git("ls-tree", "-r", branch).split("\n"))).size;
}

t.test("a repository that is empty at first", async (t) => {
  const source = fixture(t);
  const scene = new Scene("host/empty", source, await sharedDaemon(t, {}, tellsMerges));
  await scene.daemon.add(scene.name, source.path, ["dev"]);
  await scene.compare(t, "empty", []);
  t.equal(
    (await scene.daemon.get("/readyz")).status,
    200,
    "an empty repository does not keep the daemon from being ready",
  );
  source.commit({ branch: "dev", files: { "dev.txt": text("dev") } });
  await scene.syncAndCompare(t, "the only branch is the default one, whatever HEAD names", ["dev"], "dev");
  source.commit({ branch: "main", files: start });
  await scene.syncAndCompare(t, "the default branch", ["main", "dev"]);
});

t.test("a repository that disappears keeps its last generation until it is removed", async (t) => {
  const source = fixture(t);
  const other = fixture(t);
  source.commit({ branch: "main", files: start });
  other.commit({ branch: "main", files: { "other.txt": text("other") } });
  const scene = new Scene("host/vanishing", source, await sharedDaemon(t, {}, tellsMerges));
  await scene.daemon.add(scene.name, source.path);
  await scene.daemon.add("host/other", other.path);
  const away = source.sibling("away");
  renameSync(source.path, away);
  await t.rejects(scene.daemon.sync(scene.name), { code: "git" });
  const [status] = await scene.daemon.list();
  t.equal(status!.state, "searchable");
  t.not(status!.error, "", "the list says what is wrong");
  const ready = await scene.daemon.get("/readyz");
  t.equal(ready.status, 200);
  t.match(
    JSON.parse(ready.text),
    { repositories: [{ error: "The last fetch or indexing failed. A site admin can see why." }, {}] },
    "and so does /readyz",
  );
  t.notOk(ready.text.includes(source.path), "which names the remote to nobody");
  const { data } = (await ask(
    scene.daemon.url,
    '{ repository(name: "host/vanishing") { mirrorInfo { lastError } } statusMessages { ... on SyncError { message } } }',
  )) as { data: unknown };
  const told = "The last fetch or indexing failed. A site admin can see why.";
  t.same(
    data,
    { repository: { mirrorInfo: { lastError: told } }, statusMessages: [{ message: `host/vanishing: ${told}` }] },
    "nor does GraphQL",
  );
  renameSync(away, source.path);
  await scene.compare(t, "while it was away", []);
  await scene.syncAndCompare(t, "when it is back", []);
  t.equal((await scene.daemon.list())[0]!.error, "");

  await scene.daemon.remove(scene.name);
  const found = (await scene.daemon.search(needle)).found;
  t.same(
    found,
    linesWith("host/other", readCommit(other.path, "main"), needle),
    "of a removed repository nothing is found",
  );
  t.match((await scene.daemon.search(`repo:^${scene.name}$ ${needle}`)).alert, /No repositories found/);
  await scene.daemon.add(scene.name, source.path);
  await scene.compare(t, "added again", []);
});

/** Few different contents, so that blobs are shared and reappear. */
function randomFile(random: (below: number) => number): FixtureFile {
  const content = text(`label ${random(15)}`, 1 + random(8));
  switch (random(8)) {
    case 0:
    case 1:
      return { deleted: true };
    case 2:
      return { executable: content };
    case 3:
      return { symlink: content };
    case 4:
      return Buffer.from(`${content}\0`);
    default:
      return content;
  }
}

/** More than the number of small shards, of all size classes, that this test can fill. */
const shardCountMax = 12;

/** Enough for a merge, and in a long run for many. */
const stepCount = scaled(4, 600);

t.test("a random walk over two branches", async (t) => {
  t.comment(`SEED=${seed}`);
  const random = randomFrom(seed);
  const source = fixture(t);
  source.commit({ branch: "main", files: start });
  source.updateRef("refs/heads/dev", source.git("rev-parse", "main"));
  const scene = new Scene("host/walk", source, await sharedDaemon(t, {}, tellsMerges));
  await scene.daemon.add(scene.name, source.path, ["dev"]);
  const paths = Array.from({ length: 12 }, (_, i) => `${"abc"[i % 3]}/${i}.txt`);
  for (let step = 0; step < stepCount; step++) {
    const branch = random(2) === 0 ? "main" : "dev";
    const other = branch === "main" ? "dev" : "main";
    const files = new Map<string, FixtureFile>();
    for (let change = random(3); change >= 0; change--) files.set(paths[random(paths.length)]!, randomFile(random));
    const kind = random(12);
    if (kind === 0) source.updateRef(`refs/heads/${branch}`, source.git("rev-parse", other));
    else source.commit({ branch, files: [...files], orphan: kind === 1 });
    await scene.syncAndCompare(t, `step ${step}`, ["main", "dev"]);
    const shardCount = await scene.daemon.metric("trawl_index_shards");
    if (shardCount > shardCountMax) t.fail(`step ${step}: ${shardCount} shards`);
  }
  t.ok(
    (await scene.daemon.wholeLog()).filter((line) => line["msg"] === "shards merged").length > stepCount / 20,
    "shards were merged several times",
  );
  t.equal(
    (await scene.daemon.list())[0]!.documentCount,
    documentsOf(source, ["main", "dev"]),
    "documents are counted right",
  );
  t.equal(await scene.daemon.countFaults(), 0);

  const again = new Scene(scene.name, source, await restartSharedDaemon(scene.daemon, "stop"));
  await again.compare(t, "after a restart", ["main", "dev"]);
  await until(
    "retired shards are deleted",
    async () =>
      storedShards(again.daemon) ===
      (await again.daemon.metric("trawl_index_shards")) + (await again.daemon.metric("trawl_index_history_shards")),
  );
});

function storedShards(daemon: DaemonProcess): number {
  const store = new ShardStore(join(daemon.data, "shards"));
  return store.ids().length;
}

t.test("the cost of a commit is proportional to its changes", async (t) => {
  const fileCount = scaled(150, 2_000);
  const source = fixture(t);
  source.commit({
    branch: "main",
    files: Object.fromEntries(Array.from({ length: fileCount }, (_, i) => [`d${i % 40}/${i}.txt`, text(`file ${i}`)])),
  });
  source.updateRef("refs/heads/dev", source.git("rev-parse", "main"));
  const scene = new Scene("host/large", source, await sharedDaemon(t, {}, tellsMerges));
  const blobsRead = (): Promise<number> => scene.daemon.metric("trawl_sync_read_blobs_total");
  const readBefore = await blobsRead();
  await scene.daemon.add(scene.name, source.path, ["dev"]);
  t.equal((await blobsRead()) - readBefore, fileCount, "at first every blob, at two branches once");
  // Where the two branches part, the document of the blob that the other one keeps is written again.
  const steps: readonly (readonly [what: string, blobCount: number, change: () => void])[] = [
    ["one file", 1 + 1, () => source.commit({ branch: "main", files: { "d1/1.txt": text("other") } })],
    ["the same file again", 1, () => source.commit({ branch: "main", files: { "d1/1.txt": text("another") } })],
    ["a file deleted", 0 + 1, () => source.commit({ branch: "main", files: { "d2/2.txt": { deleted: true } } })],
    [
      "the same file deleted in the other branch",
      0,
      () => source.commit({ branch: "dev", files: { "d2/2.txt": { deleted: true } } }),
    ],
    ["only a mode", 0, () => source.commit({ branch: "main", files: { "d3/3.txt": { executable: text("file 3") } } })],
    [
      "three files",
      3 + 1,
      () =>
        source.commit({ branch: "dev", files: { "x.txt": text("x"), "y.txt": text("y"), "d4/4.txt": text("four") } }),
    ],
    ["nothing", 0, () => undefined],
  ];
  for (const [what, blobCount, change] of steps) {
    const before = await blobsRead();
    change();
    await scene.daemon.sync(scene.name);
    t.equal((await blobsRead()) - before, blobCount, `${what}: blobs read`);
  }
  const last = (await scene.daemon.wholeLog()).filter((line) => line["msg"] === "indexed").at(-1);
  t.equal(last?.["whole"], false, "without indexing all anew");
  await scene.compare(t, "after these", ["main", "dev"]);
});
