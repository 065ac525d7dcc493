import { createHash } from "node:crypto";
import { accessSync, constants, createReadStream } from "node:fs";
import { delimiter, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { run } from "../system/processes.js";

/**
 * The path of a program: in a folder of the variable `BENCH_TOOLS`, else of `PATH`; undefined when it is in none.
 */
export function findTool(name: string): string | undefined {
  const folders = [process.env["BENCH_TOOLS"], process.env["PATH"]].flatMap((list) => list?.split(delimiter) ?? []);
  return folders
    .filter((folder) => folder !== "")
    .map((folder) => join(folder, name))
    .find(isProgram);
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Programs of a peer in the order of their names, or what is missing and how to get it. */
export type Tools =
  | { readonly kind: "found"; readonly programs: readonly string[] }
  | { readonly kind: "missing"; readonly reason: string };

export function findTools(names: readonly string[], origin: string): Tools {
  const missing = names.filter((name) => findTool(name) === undefined);
  if (missing.length > 0)
    return { kind: "missing", reason: `${missing.join(" and ")} not in a folder of BENCH_TOOLS or PATH (${origin})` };
  return { kind: "found", programs: names.flatMap((name) => findTool(name) ?? []) };
}

/** The first line that a program prints about its version. */
export async function readVersionLine(program: string, args: readonly string[]): Promise<string> {
  return (await run(program, args, "").catch(() => "")).split("\n")[0] ?? "";
}

/** The beginning of the SHA-256 of a program, for programs that do not print their version. */
export async function fingerprint(program: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(program), hash);
  return hash.digest("hex").slice(0, 12);
}
