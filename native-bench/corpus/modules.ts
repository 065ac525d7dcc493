import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { checkoutFolder } from "../system/folders.js";
import { commitFolder } from "./repositories.js";

const modulesFolder = join(checkoutFolder, "node_modules");

const isText = /\.(c|cc|cjs|cmake|cpp|css|cts|h|html|js|json|jsx|md|mjs|mts|py|sh|ts|tsx|txt|yml)$/;

/** Changes with what is installed: npm keeps a list of it beside the packages. */
export async function installedChecksum(): Promise<string> {
  const list = readFileSync(join(modulesFolder, ".package-lock.json"));
  return createHash("sha256").update(list).digest("hex");
}

/** The text files of the installed packages, without those compiled here, whose sources include the compiler's output. */
export async function makeModules(folder: string): Promise<void> {
  for (const path of textFiles("")) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    copyFileSync(join(modulesFolder, path), join(folder, path));
  }
  await commitFolder(folder);
}

function* textFiles(folder: string): Generator<string> {
  for (const entry of readdirSync(join(modulesFolder, folder), { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.name.startsWith(".")) continue;
    if (entry.isFile() && isText.test(entry.name)) yield path;
    if (entry.isDirectory() && !existsSync(join(modulesFolder, path, "binding.gyp"))) yield* textFiles(path);
  }
}
