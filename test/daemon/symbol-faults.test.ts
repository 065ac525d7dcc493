/** Extraction with a ctags that fails: what is counted, what is tried again, and that nothing else is missing. */
import { execFileSync } from "node:child_process";
import { chmodSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import type { Progress } from "../../src/model/stream-events.js";
import { dataDirectory, runCommand, testDaemon, withSymbols, type DaemonProcess } from "../support/daemon.js";
import { chosen, inLongRuns } from "../support/full-run.js";
import { fixture } from "../support/git-mirror.js";
import { until } from "../support/waiting.js";

/** The installed ctags, in front of which a program reads what is sent to it, and does what the texts ask for. */
interface FaultyCtags {
  readonly command: string;
  /** The version that it tells. */
  setVersion: (version: string) => void;
  /** How often a text with a variable of this name was sent to it. */
  countOf: (name: string) => number;
  /** The ids of its processes, once a text with the word "wait" was sent; then it waits until they are killed. */
  waiting: () => readonly number[] | undefined;
}

function faultyCtags(t: Test): FaultyCtags {
  const real = execFileSync("sh", ["-c", "command -v ctags"]).toString().trim();
  // tap deletes a directory of its own before the daemon has ended, which goes on asking the program.
  const folder = dataDirectory(t);
  writeFileSync(join(folder, "version"), "");
  const command = join(folder, "ctags");
  // What it is only asked about itself is answered without a start of Node.
  writeFileSync(
    command,
    `#!/bin/sh
case "$*" in
  *_interactive*) exec "${process.execPath}" "${join(folder, "faulty.cjs")}" "$@" ;;
esac
read -r version <"${join(folder, "version")}"
case " $* " in
  *" --version "*) [ -z "$version" ] || { echo "Universal Ctags $version, and more"; exit; } ;;
esac
exec "${real}" "$@"
`,
  );
  writeFileSync(
    join(folder, "faulty.cjs"),
    `const { spawn } = require("child_process");
const fs = require("fs");
const given = process.argv.slice(2);
const child = spawn(${JSON.stringify(real)}, given, { stdio: ["pipe", "inherit", "inherit"] });
child.on("exit", () => process.exit(1));
process.stdin.on("end", () => child.stdin.end());
process.stdin.on("data", (part) => {
  // It may not write to files.
  const record = (what) => fs.mkdirSync(${JSON.stringify(folder)} + "/" + what + " " + child.pid + " " + process.pid, { recursive: true });
  for (const [, name] of part.toString().matchAll(/int ([a-z]+\\d*);/g)) if (!name.startsWith("good") || name === "good7") record(name + " " + Date.now());
  if (part.includes("int crash")) { child.kill("SIGKILL"); process.kill(process.pid, "SIGSEGV"); return; }
  if (part.includes("int garbage")) process.stdout.write("not a record\\n");
  if (part.includes("int wait") && !fs.readdirSync(${JSON.stringify(folder)}).some((one) => one.startsWith("held "))) {
    record("held");
    return;
  }
  child.stdin.write(part);
});
`,
  );
  chmodSync(command, 0o755);
  return {
    command,
    setVersion: (version) => writeFileSync(join(folder, "version"), version),
    countOf: (name) => readdirSync(folder).filter((one) => one.startsWith(`${name} `)).length,
    waiting: () => {
      const held = readdirSync(folder).find((one) => one.startsWith("held "));
      return held?.split(" ").slice(1).map(Number);
    },
  };
}

const start = (t: Test, { command }: FaultyCtags, data: string): Promise<DaemonProcess> =>
  testDaemon(t, [...withSymbols, "--set", `index.ctagsCommand=${command}`, "--set", "index.historyBytes=0"], data, {
    PATH: process.env["PATH"] ?? "",
  });

const isComplete = (daemon: DaemonProcess): Promise<void> =>
  until("all shards have symbols", async () => (await daemon.metric("trawl_index_shards_without_symbols")) === 0);

const failures = (daemon: DaemonProcess): Promise<number> => daemon.metric("trawl_index_symbol_failures");

/** The names of all symbols. */
async function names(daemon: DaemonProcess): Promise<string[]> {
  const events = await daemon.stream("type:symbol count:all", "standard");
  const matches = events.flatMap(({ name, data }) =>
    name === "matches" ? (JSON.parse(data) as { symbols: { name: string }[] }[]) : [],
  );
  return matches.flatMap(({ symbols }) => symbols.map(({ name }) => name)).sort();
}

/** Good files before, between and after the others. */
const good = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`file${i}.c`, `int good${i};\n`]));
const goodNames = Object.keys(good)
  .map((path) => `good${path.slice(4, -2)}`)
  .sort();

/** A search for symbols tells that the file is missing, and only if it would have been searched. */
async function showsMissing(t: Test, daemon: DaemonProcess, reason: string): Promise<void> {
  const progressOf = async (query: string): Promise<Progress> => {
    const events = await daemon.stream(`${query} count:all`, "standard", { receipt: "1" });
    return JSON.parse(events.filter(({ name }) => name === "progress").at(-1)?.data ?? "") as Progress;
  };
  const { skipped, receipt } = await progressOf("type:symbol good");
  t.match(
    skipped.find(({ title }) => title === "symbols missing")?.message,
    `ctags failed for 1 file, which is tried again when the text changes. A search with \`receipt=1\` lists them.\n* \`code\` file15bad.c: ${reason}`,
  );
  t.match(receipt?.excluded.items, [
    { reason: "symbols-failed", repository: "code", path: "file15bad.c", detail: reason },
  ]);
  t.equal(receipt?.complete, false);
  const elsewhere = await progressOf("type:symbol file:file1.c good");
  t.same([elsewhere.skipped, elsewhere.receipt?.complete], [[], true]);
  t.same((await progressOf("int good")).skipped, [], "its text was searched");
}

for (const fault of chosen(["crash", "garbage"], "crash")) {
  t.test(`a text that makes ctags fail: ${fault}`, { timeout: 900_000 }, async (t) => {
    const ctags = faultyCtags(t);
    ctags.setVersion("5.9.0");
    const data = dataDirectory(t);
    const source = fixture(t);
    source.commit({ branch: "main", files: { ...good, "file15bad.c": `int ${fault};\n` } });
    const daemon = await start(t, ctags, data);
    await daemon.add("code", source.path);
    await isComplete(daemon);
    t.same(await names(daemon), goodNames, "the symbols of all others are complete");
    t.equal(await failures(daemon), 1);
    const reason = fault === "crash" ? "ctags crashed" : "ctags wrote something other than symbols";
    const files = [{ path: "file15bad.c", reason }];
    t.match(await daemon.list(), [{ missingSymbols: { shardCount: 0, textCount: 1, files } }]);
    const { out } = await runCommand("repo", "list", "--data", data);
    t.match(out, /symbols missing: 1 text/);
    t.match(out, `symbols missing: file15bad.c: ${reason}`);
    await showsMissing(t, daemon, reason);
    const askedCount = ctags.countOf(fault);
    t.ok(askedCount > 0);
    // From here on, the reason does not matter.
    if (fault !== "crash") return;
    source.commit({ branch: "main", files: { "new.c": "int other;\n" } });
    await daemon.sync("code");
    await isComplete(daemon);
    t.same(await names(daemon), [...goodNames, "other"].sort());
    await daemon.stop();
    const again = await start(t, ctags, data);
    await isComplete(again);
    t.equal(await failures(again), 1);
    t.equal(ctags.countOf(fault), askedCount, "it is not tried again");
    source.commit({ branch: "main", files: { "file15bad.c": "int better;\n" } });
    await again.sync("code");
    await until("the new text has symbols", async () => (await names(again)).includes("better"));
    await again.stop();
    const goodCount = ctags.countOf("good7");
    ctags.setVersion("6.1.0");
    const later = await start(t, ctags, data);
    await until("another version of ctags extracts all symbols again", () => ctags.countOf("good7") > goodCount);
    const all = [...goodNames, "better", "other"].sort().join();
    // Between the write of the new symbols and that of their record, a search says that symbols are missing.
    await until("all names are found", async () => (await names(later)).join() === all);
  });
}

t.test("kill -9 of ctags while symbols are extracted", { timeout: 900_000, ...inLongRuns }, async (t) => {
  const ctags = faultyCtags(t);
  const source = fixture(t);
  source.commit({ branch: "main", files: { ...good, "file15.c": "int good15; int wait;\n" } });
  const daemon = await start(t, ctags, dataDirectory(t));
  await daemon.add("code", source.path);
  await until("ctags has the text", () => ctags.waiting() !== undefined);
  for (const id of ctags.waiting() ?? []) process.kill(id, "SIGKILL");
  await isComplete(daemon);
  t.same(await names(daemon), [...goodNames, "wait"].sort(), "nothing is missing");
  t.equal(await failures(daemon), 0);
});
