/** Histories with commits of any size, dates that no clock shows, broken headers, and damage: each costs its own part only. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { SseDecoder } from "../../src/cli/connection/sse-decoder.js";
import type { Progress, StreamMatch } from "../../src/model/stream-events.js";
import { type DaemonProcess, newestMirror } from "../support/daemon.js";
import { chosen, scaled } from "../support/full-run.js";
import { GitFixture } from "../support/git-fixture.js";
import { sharedDaemon } from "../support/shared-daemon.js";
import { until } from "../support/waiting.js";

const fileCount = scaled(1_500, 1_000_000);
const patchBytes = scaled(4 << 20, 1 << 30);
const messageBytes = scaled(2 << 20, 100 << 20);

/** git does not look whether a file of this size is binary. */
const bigFileBytes = (16 << 20) + 1;
const cutMessage = /the messages of 1 commit were searched up to 1 MiB/;

interface Answer {
  readonly oids: readonly string[];
  /** What was left out, and alerts. */
  readonly notices: string;
}

async function search(daemon: DaemonProcess, query: string): Promise<Answer> {
  const parameters = new URLSearchParams({ q: `${query} count:all timeout:60s`, display: "-1" });
  const { text } = await daemon.get(`/.api/search/stream?${parameters}`);
  const events = new SseDecoder().push(Buffer.from(text));
  const dataOf = (wanted: string): string[] => events.filter(({ name }) => name === wanted).map(({ data }) => data);
  const { skipped } = JSON.parse(dataOf("progress").at(-1) ?? "{}") as Progress;
  return {
    oids: dataOf("matches").flatMap((data) => (JSON.parse(data) as StreamMatch[]).map(({ oid }) => oid ?? "")),
    notices: [...skipped.map(({ message }) => message), ...dataOf("alert")].join("\n"),
  };
}

/** Writes one commit per text to a branch, each on top of the one before. Each text is its changes for `git fast-import`. */
function writeCommits(
  remote: GitFixture,
  commits: readonly (readonly [header: string, message: string, changes: string])[],
): string[] {
  const stream = commits.map(
    ([header, message, changes], i) =>
      `commit refs/heads/main\nmark :${i + 1}\nauthor A <a@x> ${header}\ncommitter A <a@x> ${header}\n` +
      `data ${Buffer.byteLength(message)}\n${message}\n${i === 0 ? "" : `from :${i}\n`}${changes}\n`,
  );
  execFileSync("git", ["fast-import", "--quiet", "--force", "--date-format=raw"], {
    cwd: remote.path,
    input: stream.join(""),
  });
  return remote.git("rev-list", "--reverse", "--topo-order", "main").split("\n");
}

function file(path: string, text: string): string {
  return `M 100644 inline ${path}\ndata ${Buffer.byteLength(text)}\n${text}\n`;
}

async function startWith(t: Test, remote: GitFixture): Promise<{ daemon: DaemonProcess; mirror: string }> {
  const daemon = await sharedDaemon(t, {}, ["--set", "index.symbols=false"]);
  await daemon.add("host/one", remote.path);
  await until("its history is indexed", async () => (await daemon.list())[0].historyIndex?.isUpToDate === true);
  return { daemon, mirror: newestMirror(daemon.data) };
}

function fixture(t: Test): GitFixture {
  const remote = GitFixture.create();
  t.teardown(() => remote.remove());
  return remote;
}

t.test("commits of very many files, large patches and messages, dates beyond 32 bits", async (t) => {
  const remote = fixture(t);
  const many = Array.from({ length: fileCount }, (_, i) => file(`many/${i % 100}/${i}.txt`, `needle ${i}\n`));
  const line = `${"large ".repeat(20)}\n`;
  const large = `needle first\n${line.repeat(Math.ceil(patchBytes / line.length))}`;
  const oids = writeCommits(remote, [
    [
      "1600000000 +0000",
      "root",
      file("a.txt", "needle root\n") +
        file("big.txt", "needle first\n".padEnd(bigFileBytes, "x")) +
        file("big.bin", "needle first\n\0".padEnd(bigFileBytes, "x")) +
        file("small.bin", "needle first\n\0"),
    ],
    ["1600000001 +0000", "many files", many.join("")],
    ["1600000002 +0000", "a large patch", file("large.txt", large) + file("small.txt", "needle small\n")],
    ["1600000003 +0000", `a long message\n\n${"words ".repeat(messageBytes / 6)}`, file("b.txt", "needle long\n")],
    [`${2 ** 33} +0000`, "year 2242", file("c.txt", "needle 2242\n")],
    [`${2 ** 34 - 1} +0000`, "year 2514", file("d.txt", "needle 2514\n")],
    // A commit graph has 34 bits for a date.
    [`${2 ** 34 + 5} +0000`, "year 2514 again", file("f.txt", "needle again\n")],
    [`${2 ** 45} +0000`, "no year", file("g.txt", "needle far\n")],
    ["1600000004 +0000", "last", file("e.txt", "needle last\n")],
  ]);
  const { daemon } = await startWith(t, remote);
  const newestFirst = [7, 6, 5, 4, 8, 3, 2, 1, 0].map((i) => oids[i]);
  // What has an index is searched with it.
  for (const index of chosen(["", "index:no", "index:only"], "", "index:no")) {
    const all = await search(daemon, `type:diff needle ${index}`);
    t.same(all.oids, newestFirst, `all commits, ${index}`);
    t.match(all.notices, /the changes of 3 files are too large to be searched/, index);
    t.notMatch(all.notices, /messages/, "messages are not searched");
    t.match((await search(daemon, `type:commit needle ${index}`)).notices, cutMessage, index);
    t.match((await search(daemon, `type:diff needle -message:root ${index}`)).notices, cutMessage, index);
    t.same(
      (await search(daemon, `type:diff "needle first" ${index} patterntype:keyword`)).oids,
      [],
      "the large file alone is left out",
    );
    t.same((await search(daemon, `type:diff file:^many/7/ "needle 107" ${index} patterntype:keyword`)).oids, [oids[1]]);
    t.same((await search(daemon, `type:commit long ${index}`)).oids, [oids[3]], index);
    t.same((await search(daemon, `type:commit after:2200-01-01 ${index}`)).oids, newestFirst.slice(0, 4), index);
    t.same((await search(daemon, `type:commit after:2300-01-01 ${index}`)).oids, newestFirst.slice(0, 3), index);
  }
  t.equal((await daemon.get("/healthz")).status, 200);
});

t.test("headers that git would not write", async (t) => {
  const remote = fixture(t);
  const [root] = writeCommits(remote, [["1600000000 +0000", "root", file("a.txt", "needle\n")]]);
  const tree = remote.git("rev-parse", `${root}^{tree}`);
  const add = (parent: string, header: string, message: string): string =>
    execFileSync("git", ["hash-object", "-t", "commit", "-w", "--stdin", "--literally"], {
      cwd: remote.path,
      input: Buffer.from(`tree ${tree}\nparent ${parent}\n${header}\n\n${message}\n`, "latin1"),
    })
      .toString()
      .trim();
  const person = "A <a@x> 1600000009 +0000";
  const headers = [
    `author ${"9".repeat(30)}\ncommitter ${person}`,
    `author A <a@x> ${"9".repeat(30)} +0000\ncommitter A <a@x> ${"9".repeat(30)} +0000`,
    `author A <a@x> -5 +9999999\ncommitter ${person}`,
    `author \xff<\xfe> 5 +0000\ncommitter ${person}\nencoding no-such`,
    `author ${"<".repeat(5_000)} 5 +0000\ncommitter ${person}`,
    `author ${person}\ncommitter ${person}\nx-unknown ${"y".repeat(100_000)}`,
  ];
  const oids = [root];
  for (const header of headers) oids.push(add(oids.at(-1) ?? root, header, `broken ${oids.length}`));
  remote.updateRef("refs/heads/main", oids.at(-1) ?? root);
  const { daemon } = await startWith(t, remote);
  for (const index of ["", "index:no"]) {
    const { oids: found, notices } = await search(daemon, `type:commit ${index}`);
    t.same([...found].sort(), [...oids].sort(), index);
    t.equal(notices, "");
    t.same((await search(daemon, `type:commit "broken 3" ${index} patterntype:keyword`)).oids, [oids[3]], index);
    t.same((await search(daemon, `type:diff needle ${index}`)).oids, [root], index);
  }
});

t.test("objects that the mirror lacks, and grafts", async (t) => {
  const remote = fixture(t);
  const oids = writeCommits(
    remote,
    Array.from({ length: 8 }, (_, i) => [`160000000${i} +0000`, `commit ${i}`, file(`${i}.txt`, `needle ${i}\n`)]),
  );
  const { daemon, mirror } = await startWith(t, remote);
  const newestFirst = [...oids].reverse();
  t.same((await search(daemon, "type:diff needle index:no")).oids, newestFirst);

  // A cycle, if it were read: the first commit would be a child of the last one.
  mkdirSync(join(mirror, "info"), { recursive: true });
  writeFileSync(join(mirror, "info", "grafts"), `${oids[0]} ${oids[7]}\n${oids[5]}\n`);
  for (const index of ["index:no", "index:only"]) {
    t.same((await search(daemon, `type:diff needle ${index}`)).oids, newestFirst, "grafts are ignored");
    const range = `repo:one@${oids[7]}:^${oids[2]} type:commit ${index}`;
    t.same((await search(daemon, range)).oids, newestFirst.slice(0, 5), "also for ranges");
  }

  // As loose objects, which can be removed one by one.
  const packs = join(mirror, "objects", "pack");
  for (const name of readdirSync(packs).filter((one) => one.endsWith(".pack"))) {
    const moved = join(mirror, name);
    renameSync(join(packs, name), moved);
    execFileSync("git", ["unpack-objects", "-q"], { cwd: mirror, input: execFileSync("cat", [moved]) });
  }
  rmSync(packs, { recursive: true });
  const blob = execFileSync("git", ["hash-object", "--stdin"], { input: "needle 3\n" }).toString().trim();
  for (const oid of [blob, remote.git("rev-parse", `${oids[5]}^{tree}`)])
    rmSync(join(mirror, "objects", oid.slice(0, 2), oid.slice(2)));
  const { oids: found, notices } = await search(daemon, "type:diff needle index:no");
  t.same(
    found,
    [7, 4, 2, 1, 0].map((i) => oids[i]),
    "all commits that can be read",
  );
  // The one before a commit whose tree is missing counts too, because git ended before it had begun another.
  t.match(notices, /4 commits could not be read completely/);
  t.same((await search(daemon, "type:diff needle")).oids, newestFirst, "the index has them all");
});
