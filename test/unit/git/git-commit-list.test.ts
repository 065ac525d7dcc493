import t from "tap";
import { listCommits, listedOids } from "../../../src/git/history/commit-list.js";
import { GitFixture } from "../../support/git-fixture.js";
import { generateHistory } from "../../support/history-repository.js";
import { seed } from "../../support/property.js";

const never = (): boolean => false;

t.test("reachable commits, newest first, then by oid", async (t) => {
  const repository = generateHistory(seed, 60);
  t.teardown(() => repository.remove());
  const tips = repository.git("for-each-ref", "--format=%(objectname)", "refs/heads/").split("\n");
  const expected = (...revisions: string[]): readonly string[] =>
    repository
      .git("log", "--format=%ct %H", ...revisions, "--")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => line.split(" ") as [string, string])
      .sort(([date, oid], [otherDate, other]) => Number(otherDate) - Number(date) || (oid < other ? -1 : 1))
      .map(([, oid]) => oid);
  const rows: readonly (readonly [from: string[], without: string[]])[] = [
    [tips, []],
    [tips.slice(0, 1), []],
    [tips.slice(0, 1), tips.slice(1)],
    [tips.slice(1), tips.slice(0, 1)],
    [tips, tips],
  ];
  for (const [from, without] of rows) {
    const list = await listCommits(repository.path, from, without, never);
    const oids = listedOids(list, 0, list.count);
    if (from.length > 0) t.same(oids, expected(...from, ...without.map((oid) => `^${oid}`)));
    for (const [i, oid] of oids.entries())
      if (list.dates[i] !== Number(repository.git("log", "-1", "--format=%ct", oid))) t.fail(oid);
    t.same(listedOids(list, 1, Math.min(3, list.count)), oids.slice(1, 3));
  }
});

t.test("no revisions, an unknown one, a stop", async (t) => {
  const repository = GitFixture.create();
  t.teardown(() => repository.remove());
  const oid = repository.commit({ branch: "main", files: { a: "b" } });
  t.equal((await listCommits(repository.path, [], [oid], never)).count, 0);
  await t.rejects(listCommits(repository.path, ["1".repeat(40)], [], never), { code: "git" });
  await t.rejects(
    listCommits(repository.path, [oid], [], () => true),
    { code: "cancelled" },
  );
});

t.test("SHA-256", async (t) => {
  const repository = GitFixture.create("bare", "sha256");
  t.teardown(() => repository.remove());
  const oid = repository.commit({ branch: "main", files: { a: "b" } });
  const list = await listCommits(repository.path, [oid], [], never);
  t.same([list.oidBytes, listedOids(list, 0, 1)], [32, [oid]]);
});
