import { readFileSync } from "node:fs";
import { cpus, loadavg, release, totalmem } from "node:os";
import { join } from "node:path";
import type { Environment } from "../report/run-report.js";
import { checkoutFolder } from "../system/folders.js";
import { run } from "../system/processes.js";

/**
 * The machine as it is at the moment of the call. `peers` are their versions by name; `busyBefore` is what `waitForQuiet`
 * returned.
 */
export async function readEnvironment(
  peers: Readonly<Record<string, string>>,
  busyBefore: number,
): Promise<Environment> {
  return {
    machine: {
      processor: cpus()[0]?.model || process.arch,
      cores: cpus().length,
      memoryBytes: totalmem(),
      kernel: release(),
      loadBefore: loadavg()[0] ?? 0,
      busyBefore,
      pageCacheBytes: pageCacheBytes(readFileSync("/proc/meminfo", "utf8")),
    },
    versions: {
      trawl: await trawlVersion(),
      node: process.version,
      git: (await run("git", ["--version"], "")).trim(),
      ...peers,
    },
  };
}

/** Of the text of `/proc/meminfo`. */
export function pageCacheBytes(meminfo: string): number {
  return Number(/^Cached:\s+(\d+) kB$/m.exec(meminfo)?.[1] ?? 0) * 1024;
}

/** As git describes the checkout; a checkout without git has the version of the package. */
async function trawlVersion(): Promise<string> {
  try {
    return (await run("git", ["-C", checkoutFolder, "describe", "--always", "--dirty"], "")).trim();
  } catch {
    return (JSON.parse(readFileSync(join(checkoutFolder, "package.json"), "utf8")) as { version: string }).version;
  }
}
