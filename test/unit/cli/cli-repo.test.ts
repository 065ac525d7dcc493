import t from "tap";
import type { RepositoryStatus } from "../../../src/model/repository-status.js";
import { parseRepositoryList } from "../../../src/codehost/repository-list.js";
import { runCommand, runCommandWith } from "../../support/daemon.js";
import { chosen } from "../../support/full-run.js";
import { GitFixture } from "../../support/git-fixture.js";
import { sharedDaemon } from "../../support/shared-daemon.js";

t.test("attributes of a repository on the command line", async (t) => {
  const fixture = GitFixture.create();
  t.teardown(() => fixture.remove());
  fixture.commit({ branch: "main", files: [["a.txt", "alpha\n"]] });
  const daemon = await sharedDaemon(t, { repositories: [{ name: "listed", url: fixture.path }] });
  const { data } = daemon;
  const repo = (...args: string[]) => runCommand("repo", ...args, "--data", data);
  const listed = async (): Promise<readonly RepositoryStatus[]> =>
    (await repo("list", "--json")).out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as RepositoryStatus);
  const status = (all: readonly RepositoryStatus[]) => all.find(({ name }) => name === "host/a");

  const added = await repo(
    "add",
    "host/a",
    fixture.path,
    "--stars",
    "7",
    "--fork",
    "--description",
    "An example",
    "--topic",
    "go",
    "--topic",
    "cli",
    "--meta",
    "team=core=1",
    "--meta",
    "tier",
  );
  t.equal(added.exitCode, 0, added.err);
  t.match(added.out, /fork {2}7 stars/);
  t.match(status(await listed()), {
    fork: true,
    archived: false,
    private: false,
    stars: 7,
    description: "An example",
    topics: ["go", "cli"],
    metadata: { team: "core=1", tier: null },
  });
  t.same((await daemon.search("repo:has.topic(cli) fork:yes")).found, ["host/a"]);

  t.equal((await repo("set", "host/a", "--no-fork", "--archived", "--topic", "rust", "--no-meta")).exitCode, 0);
  t.match(status(await daemon.list()), {
    fork: false,
    archived: true,
    stars: 7,
    description: "An example",
    topics: ["rust"],
    metadata: {},
  });
  t.same((await daemon.search("repo:has.topic(rust)")).skipped, ["excluded-archive"], "a search sees it at once");
  t.same((await daemon.search("repo:has.topic(rust) archived:yes alpha")).found, ["host/a:a.txt:1"]);

  const other = GitFixture.create();
  t.teardown(() => other.remove());
  other.commit({ branch: "main", files: [["b.txt", "beta\n"]] });
  await t.rejects(daemon.control("POST", "/.api/repos/host%2Fa/url", { url: `${other.path}-not-there` }));
  t.same(
    (await daemon.search("archived:yes alpha repo:host/a")).found,
    ["host/a:a.txt:1"],
    "a remote that cannot be fetched takes nothing away",
  );
  const moved = await repo("set", "host/a", "--url", other.path);
  t.equal(moved.exitCode, 0, moved.err);
  t.same((await daemon.search("archived:yes repo:host/a alpha or beta")).found, ["host/a:b.txt:1"]);

  const refusals: readonly (readonly [what: string, args: readonly string[], message: RegExp])[] = [
    ["nothing", ["set", "host/a"], /nothing to change/],
    ["another name", ["remove", "hots/a"], /Did you mean host\/a\?/],
    [
      "no number",
      ["set", "host/a", "--stars", "many"],
      /repositories\[0\]\.stars: must be a whole number .*, not "many"/,
    ],
  ];
  for (const [what, args, message] of refusals) t.match(await repo(...args), { exitCode: 2, err: message }, what);
  const set = (name: string, place: string, change: object): Promise<unknown> =>
    daemon.control("POST", `/.api/repos/${encodeURIComponent(name)}/${place}`, change);
  for (const [name, place, change, message] of [
    ["nowhere", "attributes", { fork: true }, /there is no repository named "nowhere"/],
    ["host/a", "url", { url: "ftp://example.org/x" }, /ftp/],
    [
      "listed",
      "attributes",
      { fork: true },
      /"listed" is listed in the configuration file or on the command line: change it there/,
    ],
  ] as const)
    await t.rejects(set(name, place, change), { message });

  const account = (...args: string[]) => runCommand(...args, "--data", data);
  await daemon.control("POST", "/.api/organizations", { name: "core" });
  const misspelt: readonly (readonly [what: string, args: readonly string[], message: RegExp])[] = [
    ["user", ["user", "delete", "admn"], /no user named "admn".* Did you mean admin\?/],
    ["user of a token", ["token", "create", "amdin"], /Did you mean admin\?/],
    ["member", ["org", "add", "core", "adminn"], /Did you mean admin\?/],
    ["organization", ["org", "add", "croe", "admin"], /no organization named "croe".* Did you mean core\?/],
    ["nothing alike", ["org", "delete", "nothing-like-it"], /lists the existing ones$/m],
  ];
  for (const [what, args, message] of chosen(misspelt, "user of a token", "organization", "nothing alike"))
    t.match(await account(...args), { exitCode: 2, err: message }, what);
});

t.test("a list of repositories", async (t) => {
  t.same(
    parseRepositoryList('# all\n\nhost/a  /x/a\r\nhttps://host/b.git\n{"url": "/x/c", "stars": 1}\n', "list", "/"),
    [
      { name: "host/a", url: "/x/a" },
      { name: "host/b", url: "https://host/b.git" },
      { name: "c", url: "/x/c", stars: 1 },
    ],
  );
  t.throws(() => parseRepositoryList("\na b c\n", "list", "/"), { message: /^list:2: write NAME URL/ });
  t.throws(() => parseRepositoryList("{", "list", "/"), { message: /^list:1: not JSON/ });

  const fixture = GitFixture.create();
  t.teardown(() => fixture.remove());
  fixture.commit({ branch: "main", files: [["a.txt", "alpha\n"]] });
  const daemon = await sharedDaemon(t);
  const { data } = daemon;
  const names = Array.from({ length: 3 }, (_, at) => `many/r${at}`);
  const list = names.map((name) => `${name} ${fixture.path}\n`).join("");
  const args = ["repo", "add", "--from", "-", "--data", data];
  const first = await runCommandWith(list, [...args, "--wait"]);
  t.equal(first.exitCode, 0, first.err);
  t.match(first.out, /^3 repositories were added, and 0 were there already\n/);
  t.equal((await daemon.search("alpha")).found.length, 3, "all are searchable");
  const again = await runCommandWith(`${list}bad/name: x\nmany/r1 /elsewhere\nmany/new ${fixture.path}\n`, args);
  t.equal(again.exitCode, 2);
  t.match(again.out, /^1 repositories were added, and 3 were there already\n/, again.err);
  t.match(again.err, /bad\/name:: .*must be a name/);
  t.match(again.err, /many\/r1: the name stands for two URLs in this list/);
  t.match(await runCommandWith("", ["repo", "add", "x", "--data", data]), { exitCode: 2, err: /--from FILE/ });
});
