import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** This checkout; this file is `dist/native-bench/system/folders.js` in it. */
export const checkoutFolder = fileURLToPath(new URL("../../..", import.meta.url)).replace(/\/$/, "");

/** A folder for this process, deleted when it ends. Also deletes those of processes that could not do so. */
export function makeWorkFolder(cache: string): string {
  for (const name of readdirSync(cache)) {
    const pid = /^run-(\d+)-/.exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid))) rmSync(join(cache, name), { recursive: true, force: true });
  }
  const folder = mkdtempSync(join(cache, `run-${process.pid}-`));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  return folder;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
