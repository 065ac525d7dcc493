import { basename, join } from "node:path";
import { errorMessage, TrawlError } from "../../src/base/errors.js";
import { checkoutFolder } from "./folders.js";
import { run } from "./processes.js";

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
