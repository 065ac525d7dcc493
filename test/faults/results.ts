/** The last `make faults` run of each test, and the page generated from them. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg, release, totalmem } from "node:os";
import type { Figure } from "../support/full-run.js";
import { findTestFile } from "../support/test-files.js";
import { items, type Item } from "./items.js";

const file = "test/faults/results.json";
export const page = "docs/reliability.md";

/** The last run of one test. */
export interface Run {
  readonly test: string;
  readonly date: string;
  readonly commit: string;
  readonly machine: string;
  /** Fraction of the full counts, and the time limit of each loop in minutes. */
  readonly share: string;
  readonly minutes: string;
  /** Load average when the run started, a measure of what else the machine was doing. */
  readonly load: number;
  readonly seconds: number;
  readonly passed: boolean;
  readonly figures: readonly Figure[];
}

export function readRuns(): Run[] {
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Run[]) : [];
}

/** Replaces the previous run of that test, and regenerates the page. */
export function keepRun(run: Run): void {
  const others = readRuns().filter(({ test }) => test !== run.test);
  writeFileSync(
    file,
    `${JSON.stringify(
      [...others, run].sort((a, b) => a.test.localeCompare(b.test)),
      null,
      1,
    )}\n`,
  );
  writeFileSync(page, pageOf(readRuns()));
}

export function describeMachine(): string {
  return `${cpus()[0]?.model.trim() ?? "?"}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release()}, Node ${process.version}`;
}

export function conditions(): Pick<Run, "date" | "commit" | "machine" | "load"> {
  const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim();
  return {
    date: new Date().toISOString().slice(0, 10),
    commit,
    machine: describeMachine(),
    load: Math.round(loadavg()[0] ?? 0),
  };
}

/** The page: one row per item, then the runs. */
export function pageOf(runs: readonly Run[]): string {
  return `# Reliability

What Trawl guarantees when something fails, and the tests that verify it. \`make faults\` generates this page: it runs the tests marked
with an asterisk one after another, with large counts, and records their measurements. \`make test\` runs all that are not called fault-…, with small
counts. \`make faults TESTS="fault-disk"\` runs selected tests; \`FAULTS=0.1\` runs a tenth of the counts, and \`MINUTES=5\` limits each loop to
that time: the figures state the counts reached. \`make soak\` runs item 2.

| # | event | requirement | verified by | measured | not verified |
|---|---|---|---|---|---|
${items.map((item) => rowOf(item, runs)).join("\n")}

## Runs

| test | date | commit | counts | load | time | result |
|---|---|---|---|---|---|---|
${runs.map((run) => `| ${link(run.test)} | ${run.date} | ${run.commit} | ${countsOf(run)} | ${run.load} | ${Math.round(run.seconds)} s | ${run.passed ? "passed" : "**failed**"} |`).join("\n")}

Machine: ${[...new Set(runs.map(({ machine }) => machine))].join("; ")}. *Load* is the load average when the test started: if it exceeds the
number of cores, times are longer than on an idle machine.

## How

**kill -9 and full disks.** [layer.c](../test/faults/layer.c) is preloaded into the daemon and its children, which are git and the process
that checks the stores, and intercepts C library calls. It counts the calls that modify the data directory, and kills the daemon right before or after the n-th call, or makes that call fail.

**Power loss.** The same layer logs what each call changed. After all processes have exited,
[power-loss.ts](../test/support/power-loss.ts) reverts a random subset of the changes that no fsync had made durable: the last few writes
of each 4 KiB page, file sizes, and names. Names are reverted either in one global order, as the journals of ext4 and XFS preserve it, or
per directory. The daemon is given a different boot id, because LMDB checks it.

**After each fault**, [crash-site.ts](../test/support/crash-site.ts) checks that every repository is at the commits of its last acknowledged
sync or later, with both branches at the same commit; that searches find what git has at that commit; that all shards are intact; and that
the accounts that were created still exist.
`;
}

function rowOf({ number, what, bound, tests, notShown }: Item, runs: readonly Run[]): string {
  const measured = runs.flatMap(({ figures }) => figures).filter((figure) => figure.item === number);
  const names = [...new Set([...measured.map(({ test }) => test), ...tests])];
  const shownBy = names.map((name) => `${link(name)}${runs.some(({ test }) => test === name) ? "\\*" : ""}`).join(", ");
  return `| ${number} | ${what} | ${bound} | ${shownBy} | ${measured.map(({ what, figure }) => `${what}: ${figure}`).join("<br>")} | ${notShown} |`;
}

function link(test: string): string {
  return `[${test}](../${findTestFile(test)})`;
}

function countsOf({ share, minutes }: Run): string {
  return `${share === "1" ? "all" : share}${minutes === "" ? "" : `, at most ${minutes} minutes per loop`}`;
}
