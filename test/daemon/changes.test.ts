/** Searches for changes: `since` compares the results with those of a receipt, `watch` waits for more. */
import { writeFileSync } from "node:fs";
import t from "tap";
import type { MatchChange } from "../../src/model/match-change.js";
import type { Receipt } from "../../src/model/stream-events.js";
import {
  type Answer,
  changesSince,
  commitFiles,
  type Files,
  nextFiles,
  receiptOf,
  search,
  Watching,
} from "../support/changes.js";
import { dataDirectory, type DaemonProcess, runCommand, testDaemon, textsOnly } from "../support/daemon.js";
import { scaled } from "../support/full-run.js";
import type { GitFixture } from "../support/git-fixture.js";
import { fixture } from "../support/git-mirror.js";
import { randomFrom } from "../support/random.js";
import { until } from "../support/waiting.js";

t.setTimeout(900_000);

/** `path:line:text` of each line that the query is to find; the oracle. */
function naive(files: Files, isWanted: (line: string, path: string) => boolean): string[] {
  return [...files].flatMap(([path, text]) =>
    text.split("\n").flatMap((line, i) => (isWanted(line, path) ? [`${path}:${i}:${line}`] : [])),
  );
}

const textOf = (place: string): string => place.slice(place.indexOf(":", place.indexOf(":") + 1) + 1);
const pathOf = (place: string): string => place.slice(0, place.indexOf(":"));

/** The numbers of places by what `keyOf` returns. */
function countBy(places: readonly string[], keyOf: (place: string) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const place of places) counts.set(keyOf(place), (counts.get(keyOf(place)) ?? 0) + 1);
  return counts;
}

/** Of two lists, how many can be paired by a key. */
function pairCount(a: readonly string[], b: readonly string[], keyOf: (place: string) => string): number {
  const other = countBy(b, keyOf);
  return [...countBy(a, keyOf)].reduce((sum, [key, count]) => sum + Math.min(count, other.get(key) ?? 0), 0);
}

/** The changes are exactly the difference of two naive searches. */
function checkDifference(name: string, changes: readonly MatchChange[], before: string[], after: string[]): void {
  const left = before.filter((place) => !after.includes(place)).sort();
  const right = after.filter((place) => !before.includes(place)).sort();
  const at = ({ path, lineNumber }: { path: string; lineNumber?: number }, { line }: MatchChange): string =>
    `${path}:${lineNumber}:${line}`;
  const ofKind = (kind: string): MatchChange[] => changes.filter(({ change }) => change === kind);
  const moved = ofKind("moved");
  const from = moved.map((one) => at(one.from ?? { path: "" }, one));
  t.same([...ofKind("went").map((one) => at(one, one)), ...from].sort(), left, `${name}: what is not there any more`);
  t.same([...ofKind("came"), ...moved].map((one) => at(one, one)).sort(), right, `${name}: what was not there`);
  t.equal(moved.length, pairCount(left, right, textOf), `${name}: what has the same content moved`);
  const within = moved.filter((one) => one.path === one.from?.path).length;
  const key = (place: string): string => `${pathOf(place)}\0${textOf(place)}`;
  t.equal(within, pairCount(left, right, key), `${name}: preferably within its file`);
}

const queries: readonly (readonly [query: string, isWanted: (line: string, path: string) => boolean])[] = [
  ["alpha case:yes", (line) => line.includes("alpha")],
  ["/^alpha$/ file:\\.c$", (line, path) => line === "alpha" && path.endsWith(".c")],
  ["type:file beta or type:file gamma", (line) => /beta|gamma/.test(line)],
  ["type:file content:delta -file:dir1", (line, path) => line.includes("delta") && !path.includes("dir1")],
];

let daemon: DaemonProcess;
let source: GitFixture;
let data: string;
const options = [...textsOnly, "--set", `workers=${scaled(1, 2)}`, "--set", "sync.intervalSeconds=3600"];

t.before(async () => {
  data = dataDirectory(t);
  daemon = await testDaemon(t, options, data);
});

t.test("the changes since a receipt are the difference of two naive searches", async (t) => {
  source = fixture(t);
  const pick = randomFrom(18);
  const states: Files[] = [
    new Map([
      ["a.c", "alpha\nbeta\n"],
      ["b.txt", "gamma\nalpha\n"],
    ]),
  ];
  commitFiles(source, "main", new Map(), states[0]);
  await daemon.add("code", source.path);
  const receipts = [await receiptOf(daemon, "alpha")];
  for (let i = 1; i <= scaled(4, 8); i++) {
    states.push(nextFiles(states[i - 1], pick));
    commitFiles(source, "main", states[i - 1], states[i]);
    await daemon.sync("code");
    for (const [query, isWanted] of queries) {
      const since = i % 3 === 0 ? pick(i) : i - 1;
      const { changes, error } = await changesSince(daemon, query, receipts[since]);
      t.equal(error, "");
      checkDifference(`${query} ${since}..${i}`, changes, naive(states[since], isWanted), naive(states[i], isWanted));
    }
    receipts.push((await changesSince(daemon, "alpha", receipts[i - 1])).receipt as Receipt);
  }
  const back = await changesSince(daemon, "alpha", receipts.at(-1));
  t.same(back.changes, [], "the receipt of a search for changes is a base for the next one");
});

t.test("revisions, repositories and kinds of results", async (t) => {
  const other = fixture(t);
  other.commit({ branch: "main", files: { "one.c": "int count;\nnothing\n", "name.txt": "x\n" } });
  other.commit({ branch: "side", files: { "side.c": "count\n" } });
  await daemon.add("other", other.path);
  const scope = "r:^other$ ";
  const main = await receiptOf(daemon, `${scope}count`);
  const side = await receiptOf(daemon, `${scope}rev:side count`);
  const path = await receiptOf(daemon, `${scope}type:path name`);
  other.commit({ branch: "side", files: { "side.c": "\ncount\n" } });
  other.commit({
    branch: "main",
    files: { "one.c": { executable: "int count;\nnothing\n" }, "name.txt": { deleted: true }, "new name.c": "count\n" },
  });
  await daemon.sync("other");
  const summarize = ({ changes }: Answer): string[] =>
    changes.map(
      ({ change, type, revision, path, lineNumber, from }) =>
        `${change} ${type} ${revision} ${path} ${lineNumber} ${from?.lineNumber}`,
    );
  t.same(summarize(await changesSince(daemon, `${scope}count`, main)), ["came content  new name.c 0 undefined"]);
  t.same(summarize(await changesSince(daemon, `${scope}rev:side count`, side)), ["moved content side side.c 1 0"]);
  t.same(summarize(await changesSince(daemon, `${scope}type:path name`, path)), [
    "came path  new name.c undefined undefined",
    "went path  name.txt undefined undefined",
  ]);
  const byId = await search(daemon, `${scope}count`, { since: main.url });
  t.match(byId.summary, { came: 1, went: 0, moved: 0, revisionsChanged: 1 }, "by the address of the receipt");
  t.match((await search(daemon, `${scope}count`, { since: main.url.split("/").at(-1) ?? "" })).summary, { came: 1 });

  const all = await changesSince(daemon, "count", main);
  t.ok(all.changes.some(({ repository }) => repository === "other"));
  t.equal(all.summary?.revisionsChanged, 2, "a repository that the receipt lacks came as a whole");
  const gone = await changesSince(daemon, "r:code count", main);
  t.same(gone.summary?.repositoriesGone, ["other"]);

  other.deleteBranch("side");
  await daemon.sync("other");
  t.match(
    summarize(await changesSince(daemon, `${scope}rev:side count`, side)),
    ["went content side side.c 0 undefined"],
    "a branch that was deleted",
  );
});

t.test("receipts and queries that cannot be used are refused", async (t) => {
  const receipt = await receiptOf(daemon, "r:^code$ alpha");
  const [item] = receipt.repositories.items;
  const withItem = (one: unknown): unknown => ({ repositories: { count: 1, items: [one] } });
  const wrong: readonly (readonly [receipt: unknown, error: RegExp])[] = [
    ["{", /not valid JSON/],
    ["[]", /since must be the id of a receipt/],
    ["nothing", /no receipt with this id/],
    [{}, /`repositories` of the receipt must be an object/],
    [{ repositories: { items: 1 } }, /`repositories.items` of the receipt must be an array/],
    [{ repositories: { count: 2, items: [item] } }, /lists 1 of 2 repositories/],
    [withItem({ repository: 1, revisions: [] }), /`repository` of .* must be a string/],
    [
      withItem({ repository: "code", revisions: [{ revision: "", commit: "HEAD" }] }),
      /must be the full id of a commit/,
    ],
    [withItem({ repository: "code", revisions: [{ revision: "", commit: "--all" }] }), /must be the full id/],
    [withItem({ repository: "x".repeat(2000), revisions: [] }), /at most 1024 characters/],
  ];
  for (const [given, error] of wrong) t.match((await changesSince(daemon, "alpha", given)).error, error);
  for (const [query, error] of [
    ["type:commit alpha", /commits and diffs/],
    ["file:has.owner(a) alpha", /owner or contributor/],
    ["repo:has.file(a.c) alpha", /repositories by content/],
    ["select:repo alpha", /what results belong to/],
  ] as const)
    t.match((await changesSince(daemon, query, receipt)).error, error, query);
  const forged = await changesSince(
    daemon,
    "r:^code$ alpha",
    withItem({ repository: "code", revisions: [{ revision: "", commit: "1".repeat(40) }] }),
  );
  t.same(forged.summary?.basesGone, [{ repository: "code", revision: "", commit: "1".repeat(40) }]);
  t.equal(forged.receipt?.complete, false, "a commit that does not exist could not be compared");
  const invented = withItem({ repository: "secret", revisions: [{ revision: "", commit: "1".repeat(40) }] });
  t.match((await changesSince(daemon, "r:^code$ alpha", invented)).summary, { repositoriesGone: ["secret"] });
});

t.test("trawl diff-results prints what changed and saves the receipt", async (t) => {
  const printed = fixture(t);
  printed.commit({ branch: "main", files: { "a.c": "one signal\n" } });
  await daemon.add("printed", printed.path);
  const file = `${t.testdir()}/receipt`;
  const { err } = await runCommand("search", "--receipt", "--endpoint", daemon.url, "r:^printed$ signal");
  writeFileSync(file, err);
  const diff = (...more: string[]) =>
    runCommand("diff-results", file, "r:^printed$", "signal", "--endpoint", daemon.url, "--save", file, ...more);
  printed.commit({ branch: "main", files: { "a.c": "\none signal\n", "b\u001b.c": "signal\u001b[2J\n" } });
  await daemon.sync("printed");
  t.match(await diff(), {
    exitCode: 0,
    out: "> printed:a.c:2 (a.c:1):one signal\n+ printed:b\u241b.c:1:signal\u241b[2J\n",
  });
  t.match(await diff("--json"), { exitCode: 1, out: "" }, "each change is printed once");
  writeFileSync(file, "{}");
  t.match(await diff(), { exitCode: 2, err: /`repositories` of the receipt/ });
});

t.test("a stream that waits for changes", async (t) => {
  const watched = fixture(t);
  watched.commit({ branch: "main", files: { "a.c": "signal\n" } });
  await daemon.add("watched", watched.path);
  const first = new Watching(daemon, "r:^watched$ signal", {});
  t.teardown(() => first.stop());
  await until("the first receipt", () => first.answer.receipt !== undefined && first.answer.summary !== undefined);
  t.equal(first.events.filter(({ name }) => name === "matches").length, 1, "without since, all matches come first");
  watched.commit({ branch: "main", files: { "b.c": "signal\n" } });
  await daemon.sync("watched");
  await until("a change", () => first.answer.changes.length > 0);
  t.match(first.answer.changes, [{ change: "came", path: "b.c" }]);
  const { receipt } = first.answer;
  first.stop();

  watched.commit({ branch: "main", files: { "a.c": { deleted: true } } });
  await daemon.sync("watched");
  await daemon.stop();
  daemon = await testDaemon(t.parent as typeof t, options, data);
  const second = new Watching(daemon, "r:^watched$ signal", { since: JSON.stringify(receipt) });
  await until("what changed meanwhile", () => second.answer.changes.length > 0);
  t.match(second.answer.changes, [{ change: "went", path: "a.c" }], "the receipt is valid after a restart");
  second.stop();

  const query = "r:^watched$ signal";
  // They leave their places.
  const many = Array.from({ length: scaled(2, 16) }, () => new Watching(daemon, query, { since: "x" }));
  t.same(new Set(await Promise.all(many.map(({ status }) => status))), new Set([200]));
  const open = Array.from({ length: 16 }, () => new Watching(daemon, query, { since: JSON.stringify(receipt) }));
  await until("all streams wait", () => open.every(({ answer }) => answer.summary !== undefined));
  t.equal(await new Watching(daemon, query, { since: JSON.stringify(receipt) }).status, 429);
  open[0].stop();
  await until("a place is free", async () => {
    const next = new Watching(daemon, query, { since: JSON.stringify(receipt) });
    const status = await next.status;
    t.teardown(() => next.stop());
    return status === 200;
  });
  for (const one of open) one.stop();
});
