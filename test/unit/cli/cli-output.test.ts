/** Commands whose output cannot be written, or whose reader closes the pipe. */
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import t, { type Test } from "tap";
import { progressText } from "../../../src/cli/terminal/progress-bar.js";
import { runCommand } from "../../support/daemon.js";
import { fixture } from "../../support/git-mirror.js";
import { cliUrl } from "../../support/program.js";
import { sharedDaemon } from "../../support/shared-daemon.js";
import { within } from "../../support/waiting.js";

const node = `${process.execPath} --input-type=module -e 'const { run } = await import("${cliUrl}"); process.exitCode = await run(["node", "trawl", ...process.argv.slice(1)])' --`;

/** Runs a shell command line in which `trawl` is the command. */
async function shell(
  line: string,
): Promise<{ readonly code: number | null; readonly out: string; readonly err: string }> {
  const child = spawn("/bin/bash", ["-c", line.replaceAll("trawl ", `${node} `)], {
    stdio: ["ignore", "pipe", "pipe"],
    cwd: fileURLToPath(new URL("../..", import.meta.url)),
  });
  const texts = { out: "", err: "" };
  child.stdout.on("data", (bytes) => {
    texts.out += bytes;
  });
  child.stderr.on("data", (bytes) => {
    texts.err += bytes;
  });
  const code = await within(new Promise<number | null>((resolve) => child.on("close", resolve)), line);
  return { code, ...texts };
}

/** A server that answers each search with this many results. */
async function searchServer(t: Test, count: number): Promise<string> {
  const match = {
    type: "content",
    repository: "host/r",
    path: "a.c",
    lineMatches: [{ line: "x".repeat(80), lineNumber: 1, offsetAndLengths: [[0, 1]] }],
  };
  const matches = `event: matches\ndata: ${JSON.stringify(Array.from({ length: 1000 }, () => match))}\n\n`;
  const end = `event: progress\ndata: ${JSON.stringify({ done: true, matchCount: count, durationMs: 1, skipped: [] })}\n\nevent: done\ndata: {}\n\n`;
  const server = createServer((_, response) => {
    for (let i = 0; i < count / 1000; i++) response.write(matches);
    response.end(end);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

t.test("results that cannot be written", async (t) => {
  const endpoint = await searchServer(t, 1000);
  for (const options of ["", "--json"]) {
    const { code, err } = await shell(`trawl search ${options} --endpoint ${endpoint} x >/dev/full`);
    t.equal(code, 4, err);
    t.match(err, /^trawl: the output could not be written: .*ENOSPC/);
    t.notMatch(err, /\n +at /, "no stack");
  }
});

t.test("a reader that closes the pipe", async (t) => {
  const endpoint = await searchServer(t, 20_000);
  const search = await shell(`set -o pipefail; trawl search --endpoint ${endpoint} x | head -n 1`);
  t.match(search.out, /^host\/r:a\.c:2:x+\n$/);
  t.same([search.code, search.err], [0, ""]);
  const source = fixture(t);
  source.commit({ branch: "main", files: { "a.txt": "a\n" } });
  const daemon = await sharedDaemon(t);
  const { data } = daemon;
  for (let i = 0; i < 3; i++) await daemon.add(`host/${i}`, source.path);
  for (const command of [
    "repo list",
    "repo list --json",
    "check",
    "explain a",
    "user list",
    "token list",
    "--help",
    "repo sync",
  ]) {
    const { err } = await shell(`trawl ${command}${command === "--help" ? "" : ` --data ${data}`} | true`);
    t.equal(err, "", command);
  }
});

t.test("a repository whose first sync fails is kept, and the message says so", async (t) => {
  const { data } = await sharedDaemon(t);
  const added = await runCommand("repo", "add", "host/nowhere", `${data}/nowhere`, "--data", data);
  t.equal(added.exitCode, 2);
  t.match(
    added.err,
    /trawl: host\/nowhere stays in the list and will be retried; `trawl repo remove host\/nowhere` removes it/,
  );
  const { out } = await runCommand("repo", "list", "--data", data);
  t.equal(out.split("\n").length, 2, "one line, however many the error has");
});

t.test("the line of long work", async (t) => {
  const rows: readonly (readonly [text: string, columns: number, shown: string])[] = [
    ["r: fetching 50 %", 40, "[########........] r: fetching 50 %, 3 s"],
    ["r: fetching 50 %", 200, `[${"#".repeat(15)}${".".repeat(15)}] r: fetching 50 %, 3 s`],
    ["3 of 4 repositories", 40, "[##########...] 3 of 4 repositories, 3 s"],
    ["0 of 0", 40, "0 of 0, 3 s"],
    ["connecting", 40, "connecting, 3 s"],
    ["", 40, "3 s"],
    ["r: fetching 50 %", 10, "r: fetchin"],
    ["r: fetching 50 %", 0, ""],
  ];
  for (const [text, columns, shown] of rows) {
    t.equal(progressText(text, "3 s", columns, false), shown);
    t.equal(progressText(text, "3 s", columns, true).replaceAll(/\u001b\[\d+m/g, ""), shown);
    t.ok(shown.length <= columns);
  }
  t.match(progressText("50 %", "3 s", 40, true), /^\[\u001b\[32m#+\u001b\[0m\.+\] /);
});
