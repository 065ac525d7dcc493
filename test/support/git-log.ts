/** Records the git commands that a daemon runs. */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Test } from "tap";

export interface GitLog {
  /** The environment variables that make the daemon use this git. */
  readonly variables: Readonly<Record<string, string>>;
  /** The commands, excluding those that git itself starts. */
  commands(): readonly string[];
}

/**
 * A `git` that records its arguments and then executes the real one. It must not write files, so each record is a
 * dangling symbolic link.
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
