import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import type { Finding } from "../../../src/cli/doctor/checks.js";
import { runCommand } from "../../support/daemon.js";
import { GitFixture } from "../../support/git-fixture.js";
import { sharedDaemon } from "../../support/shared-daemon.js";

async function examine(...args: string[]) {
  const { exitCode, out, err } = await runCommand("doctor", "--json", ...args);
  const findings = out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Finding);
  return { exitCode, err, findings: new Map(findings.map((finding) => [finding.name, finding])) };
}

t.test("a host with a running daemon", async (t) => {
  const fixture = GitFixture.create();
  t.teardown(() => fixture.remove());
  fixture.commit({ branch: "main", files: [["a.txt", "alpha\n"]] });
  const daemon = await sharedDaemon(t, { repositories: [{ name: "a", url: fixture.path }] });
  const { exitCode, findings, err } = await examine("--data", daemon.data, "--endpoint", daemon.url);
  t.equal(exitCode, 0, err);
  for (const name of [
    "node",
    "libraries",
    "addon",
    "git",
    "data",
    "data version",
    "daemon",
    "repositories",
    "endpoint",
  ])
    t.match(findings.get(name), { state: "good" }, name);
});

t.test("what is wrong is named, with a remedy", async (t) => {
  const folder = t.testdir();
  writeFileSync(join(folder, "version"), "99\n");
  writeFileSync(join(folder, "trawl.jsonc"), '{ "serach": 1 }');
  const { exitCode, findings } = await examine(
    "--data",
    folder,
    "--endpoint",
    "http://127.0.0.1:1",
    "--config",
    join(folder, "trawl.jsonc"),
  );
  t.equal(exitCode, 1);
  t.match(findings.get("configuration"), { state: "bad", text: /trawl\.jsonc:1/ });
  t.match(findings.get("data version"), { state: "bad", text: /has data of version 99/ });
  t.match(findings.get("daemon"), { state: "warning", remedy: /trawl serve/ });
  t.match(findings.get("endpoint"), { state: "warning", text: /no response/ });
  const missing = await runCommand("doctor", "--data", join(folder, "nowhere"), "--endpoint", "http://127.0.0.1:1");
  t.match(missing.out, /^warning {3}data {12}.*nowhere does not exist\n +→ /m);
});

t.test("completions in bash", async (t) => {
  const { out: script } = await runCommand("completion", "bash");
  const rows: readonly (readonly [words: readonly string[], found: string])[] = [
    [["sear"], "search"],
    [["repo", "a"], "add"],
    [["search", "--colo"], "--color"],
    [["search", "--color", "al"], "always"],
    [["search", "--color", "=", "n"], "never"],
    [["search", "--color", "="], "auto always never"],
    [["completion", ""], "bash zsh fish"],
    [["job", "results", "1", "--format", "p"], "parquet"],
    [["search", "ca"], "case:"],
    [["search", "x", "case:n"], "case:no"],
    [["search", "x", "case", ":", "n"], "no"],
    [["search", "x", "case", ":"], "yes no"],
    [["search", "repo:gi"], "repo:git/git repo:git/x"],
    [["search", "r", ":", "git/x"], "git/x"],
    [["repo", "remove", "git/g"], "git/git"],
  ];
  // Each in a subshell of one bash, which takes longer to read the script than to complete.
  const calls = rows.map(([words]) => {
    const quoted = ["trawl", ...words].map((word) => `'${word}'`).join(" ");
    return `(COMP_WORDS=(${quoted}); COMP_CWORD=${words.length}; _trawl; echo "\${COMPREPLY[*]}")`;
  });
  const body = `trawl() { echo git/git; echo git/x; }\n${calls.join("\n")}\n`;
  const { stdout } = spawnSync("bash", ["-c", `${script}\n${body}`], { encoding: "utf8" });
  const found = stdout.split("\n");
  t.equal(found.length, rows.length + 1);
  for (const [i, [words, wanted]] of rows.entries()) t.equal(found[i], wanted, words.join(" "));
});

t.test("the version, the manual and completions", async (t) => {
  t.match(await runCommand("--version"), { exitCode: 0, out: /^\d+\.\d+\.\d+\n$/ });
  t.match(await runCommand("manual", "trawl.jsonc"), { exitCode: 0, out: /^\.TH TRAWL\.JSONC 5/ });
  t.match(await runCommand("manual", "other"), { exitCode: 2, err: /Allowed are trawl, trawld, trawl\.jsonc\./ });
  t.match(await runCommand("completion", "fish"), { exitCode: 0, out: /complete -c trawl/ });
  t.match(await runCommand("completion", "bsh"), {
    exitCode: 2,
    err: /Allowed are bash, zsh, fish\. \(Did you mean bash\?\)/,
  });
  const { out: help } = await runCommand("search", "--help");
  t.match(help, /--quiet .*\n.*exit code/);
  t.match(help, /default: "auto"/);
  t.match(help, /^What is found:\n {2}-t.*^What is printed:\n.*^Examples:\n {2}trawl search /ms);
  t.notMatch(help, /default: false|choices:/);
  t.match(await runCommand("--help"), {
    exitCode: 0,
    out: /^Search:\n {2}search .*^Examples:\n.*Exit codes:\n {2}0 /ms,
  });
});
