/** `make faults`: runs the long tests one after the other, and writes docs/reliability.md. */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Figure } from "../support/full-run.js";
import { findTestFile } from "../support/test-files.js";
import { longTests } from "./items.js";
import { conditions, keepRun, page } from "./results.js";

const { TESTS: chosen = "", FAULTS: share = "1", MINUTES: minutes = "" } = process.env;
const hours = 6;

/** Runs one test file; resolves with whether it passed. Its output is ours. */
async function run(test: string): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), "trawl-faults-"));
  const figuresFile = join(folder, "figures");
  const before = conditions();
  const startedMs = performance.now();
  const child = spawn(process.execPath, [`dist/${findTestFile(test)?.replace(/\.ts$/, ".js")}`], {
    stdio: "inherit",
    env: {
      ...process.env,
      FAULTS: share,
      FAULTS_RECORD: figuresFile,
      TAP_TIMEOUT: String(hours * 3600),
      ...(minutes === "" ? {} : { MINUTES: minutes }),
    },
  });
  const passed = await new Promise<boolean>((resolve) => child.once("close", (code) => resolve(code === 0)));
  const lines = existsSync(figuresFile)
    ? readFileSync(figuresFile, "utf8")
        .split("\n")
        .filter((line) => line !== "")
    : [];
  const figures = lines.map((line) => JSON.parse(line) as Figure);
  keepRun({ test, ...before, share, minutes, seconds: (performance.now() - startedMs) / 1000, passed, figures });
  rmSync(folder, { recursive: true });
  return passed;
}

const names = chosen.split(" ").filter((name) => name !== "");
/** `fleet` names `fleet-failover`, too. */
const isNamed = (test: string, name: string): boolean => test === name || test.startsWith(`${name}-`);
const unknown = names.filter((name) => !longTests.some((test) => isNamed(test, name)));
if (unknown.length > 0 || !(Number(share) > 0)) {
  process.stderr.write(`TESTS are some of: ${longTests.join(" ")}; FAULTS is a number above 0\n`);
  process.exit(2);
}
const failed: string[] = [];
for (const test of longTests.filter((test) => names.length === 0 || names.some((name) => isNamed(test, name))))
  if (!(await run(test))) failed.push(test);
process.stdout.write(
  failed.length === 0
    ? `all passed; the figures are in ${page}\n`
    : `failed: ${failed.join(", ")}; the rest is in ${page}\n`,
);
process.exitCode = failed.length === 0 ? 0 : 1;
