/** The unit that systemd starts the daemon by: what bounds the daemon, and starts it again. */
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import t from "tap";

const path = new URL("../../../systemd/trawld.service", import.meta.url).pathname;

/** By name; a name that comes twice has both values. */
const settings = new Map<string, string[]>();
for (const line of readFileSync(path, "utf8").split("\n")) {
  const [, name, value] = /^([A-Za-z]+)=(.*)$/.exec(line) ?? [];
  if (name !== undefined) settings.set(name, [...(settings.get(name) ?? []), value ?? ""]);
}

const one = (name: string): string => {
  const values = settings.get(name) ?? [];
  t.equal(values.length, 1, `${name} is there once`);
  return values[0] ?? "";
};

t.test("memory, threads and processes are limited", async (t) => {
  const percent = (name: string): number => Number(/^(\d+)%$/.exec(one(name))?.[1]);
  t.ok(
    percent("MemoryHigh") > 0 && percent("MemoryHigh") < percent("MemoryMax") && percent("MemoryMax") < 100,
    "the machine keeps some memory for others",
  );
  t.equal(one("OOMPolicy"), "continue", "a git child that is ended for its memory does not end the daemon");
  t.ok(Number(one("TasksMax")) >= 2_000);
  t.ok(Number(one("LimitNOFILE")) >= 65_536);
});

t.test("a daemon that stalls or fails is restarted", async (t) => {
  t.equal(one("Type"), "notify");
  t.match(one("NotifyAccess"), /^(main|all)$/);
  t.ok(
    Number(one("WatchdogSec")) > 0 && Number(one("WatchdogSec")) <= 30,
    "a stalled event loop is noticed within half a minute",
  );
  t.equal(one("Restart"), "on-abnormal");
  const restarting = one("RestartForceExitStatus").split(" ");
  t.ok(restarting.includes("1") && restarting.includes("13"), "after an error");
  t.notOk(restarting.includes("2"), "but not to read an invalid configuration again");
  t.equal(one("StartLimitIntervalSec"), "0", "and no start is refused because of earlier ones");
  t.ok(Number(one("TimeoutStopSec")) > 10, "it may drain for as long as it does by itself");
});

const hasSystemd = spawnSync("systemd-analyze", ["--version"]).status === 0;

t.test("systemd accepts the unit", { skip: hasSystemd ? false : "systemd-analyze is not there" }, async (t) => {
  try {
    execFileSync("systemd-analyze", ["verify", path], { stdio: "pipe" });
    t.pass("no complaint");
  } catch (error) {
    const complaints = String((error as { stderr: Buffer }).stderr)
      .split("\n")
      .filter((line) => line.includes("trawld.service") && !/not executable|is not absolute/.test(line));
    t.same(complaints, []);
  }
});
