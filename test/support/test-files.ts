/** Locates test files. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** Finds `NAME.test.ts`, or `NAME.ts` in test/faults, below test/; undefined if there is none. */
export function findTestFile(name: string): string | undefined {
  const folder = readdirSync("test", { recursive: true, withFileTypes: true }).find(
    (entry) => entry.name === `${name}.test.ts`,
  );
  if (folder !== undefined) return join(folder.parentPath, folder.name);
  const program = `test/faults/${name}.ts`;
  return existsSync(program) ? program : undefined;
}
