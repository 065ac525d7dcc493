import { copyFileSync, mkdirSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { dirname, extname, join } from "node:path";
import { checkoutFolder } from "../system/folders.js";
import { commitFolder } from "./repositories.js";

const modulesFolder = join(checkoutFolder, "node_modules");

const extensions = new Set([
  ".c",
  ".cc",
  ".cjs",
  ".cmake",
  ".cpp",
  ".css",
  ".cts",
  ".h",
  ".html",
  ".js",
  ".json",
  ".jsx",
  ".md",
  ".mjs",
  ".mts",
  ".py",
  ".sh",
  ".ts",
  ".tsx",
  ".txt",
  ".yml",
]);

/** Changes with what is installed: npm keeps a list of it beside the packages. */
export function installedChecksum(): Promise<string> {
  return Promise.resolve(
    createHash("sha256")
      .update(readFileSync(join(modulesFolder, ".package-lock.json")))
      .digest("hex"),
  );
}

/**
 * The text files of the installed packages. Packages that are compiled on this machine are left out, as the compiler's
 * output lies among their sources.
 */
export async function makeModules(folder: string): Promise<void> {
  for (const path of textFiles("")) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    copyFileSync(join(modulesFolder, path), join(folder, path));
  }
  await commitFolder(folder);
}

function* textFiles(folder: string): Generator<string> {
  const entries = readdirSync(join(modulesFolder, folder), { withFileTypes: true });
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isFile() && !entry.name.startsWith(".") && extensions.has(extname(entry.name))) yield path;
    const isPlain =
      entry.isDirectory() && !entry.name.startsWith(".") && !existsSync(join(modulesFolder, path, "binding.gyp"));
    if (isPlain) yield* textFiles(path);
  }
}
