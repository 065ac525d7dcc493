/**
 * What the journal of systemd gets: lines with their priority, for standard error is a socket that the environment
 * names.
 */
import { spawn } from "node:child_process";
import { closeSync, fstatSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { isJournal, withPriority } from "../../src/base/journal.js";
import { cliUrl } from "../support/program.js";

/**
 * The standard error of a program whose environment does, or does not, name it as the journal. A file replaces the
 * socket.
 */
async function written(t: Test, program: readonly string[], named: "as journal" | "not"): Promise<string> {
  const path = join(t.testdir(), "stderr");
  const descriptor = openSync(path, "w");
  const { dev, ino } = fstatSync(descriptor);
  const child = spawn(process.execPath, program, {
    stdio: ["ignore", "ignore", descriptor],
    env: { PATH: process.env["PATH"], JOURNAL_STREAM: named === "as journal" ? `${dev}:${ino}` : `${dev}:${ino + 1}` },
  });
  await new Promise((resolve) => child.on("close", resolve));
  closeSync(descriptor);
  return readFileSync(path, "utf8");
}

const logModule = new URL("../../src/base/log.js", import.meta.url).href;

function logging(format: string): readonly string[] {
  return [
    "--input-type=module",
    "-e",
    `const { createLog } = await import(${JSON.stringify(logModule)});
    const log = createLog("debug", "${format}");
    log.info({ repository: "a/b", n: 3 }, "fetched");
    log.debug("small");
    log.warn("two\\nlines");
    log.error({ err: new TypeError("bad") }, "failed");
    log.fatal("over");`,
  ];
}

t.test("lines are readable, and each has its priority", async (t) => {
  const lines = (await written(t, logging("auto"), "as journal")).trimEnd().split("\n");
  t.match(lines.slice(0, 5), ['<6>fetched {"repository":"a/b","n":3}', "<7>small", "<4>two", "<4>lines", "<3>failed"]);
  t.ok(
    lines.slice(5, -1).length > 0 && lines.slice(5, -1).every((line) => line.startsWith("<3>")),
    "so has each line of a stack",
  );
  t.equal(lines.at(-1), "<2>over");
});

t.test("JSON if configured", async (t) => {
  const lines = (await written(t, logging("json"), "as journal")).trimEnd().split("\n");
  t.equal(lines.length, 5);
  t.match(JSON.parse(lines[0].slice(3)), { level: 30, repository: "a/b", msg: "fetched" });
  t.match(lines[2], /^<4>\{.*"two\\nlines"/);
});

t.test("any other standard error gets JSON without priorities, or readable lines if configured", async (t) => {
  t.match(await written(t, logging("auto"), "not"), /^\{"level":30,.*"msg":"fetched"\}\n\{/);
  t.match(await written(t, logging("text"), "not"), /^\[[0-9:.]+\] INFO: fetched\n {4}repository: "a\/b"\n/);
});

t.test("a failed start is an error in the journal", async (t) => {
  const program = [
    "--input-type=module",
    "-e",
    `const { run } = await import(${JSON.stringify(cliUrl)});
    process.exitCode = await run(["node", "trawl", "serve", "--config", "/nonexistent.jsonc"]);`,
  ];
  t.match(await written(t, program, "as journal"), /^<3>trawl: .*nonexistent\.jsonc/);
  t.match(await written(t, program, "not"), /^trawl: .*nonexistent\.jsonc/);
});

t.test("device and inode must both match", async (t) => {
  const { dev, ino } = fstatSync(1);
  t.ok(isJournal(1, `${dev}:${ino}`));
  t.notOk(isJournal(1, `${dev}:${ino}0`));
  t.notOk(isJournal(1, undefined));
  t.notOk(isJournal(99_999, "1:2"), "a descriptor that is closed");
  t.equal(withPriority("x"), "<3>x\n");
});
