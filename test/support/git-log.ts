/** Which commands of git a daemon starts. */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Test } from "tap";

export interface GitLog {
  /** Of the daemon, so that it finds this git. */
  readonly variables: Readonly<Record<string, string>>;
  /** One that git itself starts is not among them. */
  commands(): readonly string[];
}

/**
 * A `git` that notes its arguments, and is the real one then. It must not write files, so each note is a link to
 * nowhere.
 */
export function gitLog(t: Test): GitLog {
  const folder = mkdtempSync(join(tmpdir(), "trawl-git-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const log = join(folder, "log");
  mkdirSync(log);
  const real = execFileSync("sh", ["-c", "command -v git"], { encoding: "utf8" }).trim();
  const path = join(folder, "git");
  writeFileSync(path, `#!/bin/sh\nln -s "$*" '${log}'/$$\nexec '${real}' "$@"\n`);
  chmodSync(path, 0o755);
  return {
    variables: { PATH: `${folder}:${process.env["PATH"] ?? ""}` },
    commands: () => readdirSync(log).map((name) => readlinkSync(join(log, name))),
  };
}
