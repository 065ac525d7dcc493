/** The files under systemd/, as the programs read them for which they are written, where these are installed. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { LineFile } from "../../src/store/line-file.js";

const folder = fileURLToPath(new URL("../../../systemd", import.meta.url));
const unit = readFileSync(join(folder, "trawld.service"), "utf8");

/** Tenths: the unit is exposed by 1.3 at most. */
const exposureMax = 13;

function lacks(program: string, ...args: readonly string[]): string | false {
  return spawnSync(program, args).error === undefined ? false : `${program} is not installed`;
}

function setting(key: string): string | undefined {
  return new RegExp(`^${key}=(.*)$`, "m").exec(unit)?.[1];
}

t.test("the unit is confined", { skip: lacks("systemd-analyze", "--version") }, async (t) => {
  const { status, stdout, stderr } = spawnSync(
    "systemd-analyze",
    ["security", "--offline=true", "--no-pager", `--threshold=${exposureMax}`, join(folder, "trawld.service")],
    { encoding: "utf8" },
  );
  t.equal(status, 0, `${stdout.trimEnd().split("\n").at(-1)} ${stderr}`);
});

t.test("the unit reports an invalid configuration, and keeps the socket", async (t) => {
  const [start, check] = [setting("ExecStart"), setting("ExecStartPre")];
  const config = /--config (\S+)/.exec(start ?? "")?.[1];
  t.ok(
    config !== undefined && check?.endsWith(` config check ${config}`),
    "the file that is checked is the one that is read",
  );
  t.match(setting("ExecReload"), / reload --data \/var\/lib\/trawl$/);
  t.ok(Number(setting("FileDescriptorStoreMax")) > 0);
  t.equal(setting("SyslogIdentifier"), "trawld");
  t.ok(Number(setting("TimeoutStopSec")) > 10, "longer than the daemon drains");
});

t.test("after a rotation lines are written to the new file, and none is lost", async (t) => {
  const data = t.testdir();
  const path = join(data, "audit.log");
  const file = new LineFile(path);
  t.teardown(() => file.close());
  await file.append("one");
  execFileSync("mv", [path, `${path}.1`]);
  await file.append("two");
  execFileSync("rm", [path]);
  await file.append("three");
  t.equal(readFileSync(`${path}.1`, "utf8"), "one\n");
  t.equal(readFileSync(path, "utf8"), "three\n");
  await file.append("four");
  t.equal(readFileSync(path, "utf8"), "three\nfour\n", "a file that stays is written on");
});

t.test(
  "logrotate rotates the audit log",
  {
    skip:
      lacks("logrotate", "--version") ||
      (spawnSync("id", ["-u"], { encoding: "utf8" }).stdout.trim() !== "0" && "not root"),
  },
  async (t) => {
    const data = join(t.testdir(), "data");
    mkdirSync(data, { mode: 0o700 });
    const file = new LineFile(join(data, "audit.log"));
    t.teardown(() => file.close());
    await file.append("before");
    // The account of the service is not there.
    const rules = readFileSync(join(folder, "logrotate.d/trawl"), "utf8")
      .replaceAll("/var/lib/trawl", data)
      .replaceAll("trawl trawl", "root root");
    const config = join(data, "rules");
    writeFileSync(config, rules, { mode: 0o644 });
    execFileSync("logrotate", ["--force", "--state", join(data, "state"), config]);
    await file.append("after");
    t.same(
      readdirSync(data)
        .filter((name) => name.startsWith("audit"))
        .sort(),
      ["audit.log", "audit.log.1"],
    );
    t.equal(readFileSync(join(data, "audit.log.1"), "utf8"), "before\n");
    t.equal(readFileSync(join(data, "audit.log"), "utf8"), "after\n");
  },
);
