/** The runs of `make faults`, the last one of each test, and the page that is made of them. */
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
  /** Part of the full counts, and bound of each loop in minutes. */
  readonly share: string;
  readonly minutes: string;
  /** Processes that wanted to run when it began: how much else the machine did. */
  readonly load: number;
  readonly seconds: number;
  readonly passed: boolean;
  readonly figures: readonly Figure[];
}

export function readRuns(): Run[] {
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Run[]) : [];
}

/** Takes the place of the former run of that test, and writes the page again. */
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

/** The page: one row for each item, then the runs. */
export function pageOf(runs: readonly Run[]): string {
  return `# Reliability

What Trawl promises when something goes wrong, and what shows it. \`make faults\` writes this page: it runs the tests with an asterisk with
large counts, one after the other, and keeps what they measured. All other tests are those of \`make test\`, which runs the former, too,
with small counts. \`make faults TESTS="fault-disk"\` runs some; \`FAULTS=0.1\` makes a tenth of the counts, and \`MINUTES=5\` ends each loop
after that time: the figures say how many there were. \`make soak\` is the run of item 2.

| # | what happens | what must hold | shown by | measured | not shown |
|---|---|---|---|---|---|
${items.map((item) => rowOf(item, runs)).join("\n")}

## Runs

| test | date | commit | counts | processes beside it | time | result |
|---|---|---|---|---|---|---|
${runs.map((run) => `| ${link(run.test)} | ${run.date} | ${run.commit} | ${countsOf(run)} | ${run.load} | ${Math.round(run.seconds)} s | ${run.passed ? "passed" : "**failed**"} |`).join("\n")}

Machine: ${[...new Set(runs.map(({ machine }) => machine))].join("; ")}. *Processes beside it* is the number that wanted to run when the test
began: where it is larger than the number of cores, times are longer than on a quiet machine.

## How

**kill -9 and full disks.** [layer.c](../test/faults/layer.c) stands between the daemon, with its git children, and the C library. It counts
the calls that change something in the data directory, and ends the daemon right before or after the n-th, or fails it.

**Power loss.** The same layer keeps a journal of what each call has changed. After the end of all processes
[power-loss.ts](../test/support/power-loss.ts) takes back a random part of what no fsync had made durable: of each page of 4 KiB the
last few writes, sizes of files, and names, either in one order, as the journals of ext4 and XFS keep it, or in each directory by itself.
Another id of the system's boot is shown to the daemon, as LMDB looks at it.

**What must hold** after each of them is in [crash-site.ts](../test/support/crash-site.ts): all repositories stand at the commits of their
last acknowledged sync or at later ones, both branches at the same one, what is found is what git has there, all shards are whole, and
accounts that were made are there.
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
  return `${share === "1" ? "all" : share}${minutes === "" ? "" : `, at most ${minutes} minutes a loop`}`;
}
