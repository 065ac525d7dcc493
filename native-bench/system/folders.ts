import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "./processes.js";
import { errorMessage, TrawlError } from "../../src/base/errors.js";

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

/**
 * Compiles a C program of this checkout for this machine, `source` being its path there, and returns the program's
 * path. The compiler is `$CC` or cc; throws `not-found` with its complaint.
 */
export async function compileProgram(source: string, workFolder: string): Promise<string> {
  const program = join(workFolder, basename(source, ".c"));
  const [compiler = "cc", ...flags] = (process.env["CC"] || "cc").split(" ");
  try {
    await run(
      compiler,
      [...flags, "-std=gnu11", "-O3", "-march=native", "-o", program, join(checkoutFolder, source)],
      "",
    );
  } catch (error) {
    throw new TrawlError("not-found", `${compiler} does not compile ${source}: ${errorMessage(error)}`, {
      cause: error,
    });
  }
  return program;
}
