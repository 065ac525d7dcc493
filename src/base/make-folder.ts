import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { errorMessage } from "./errors.js";

/**
 * Creates a folder that a user has named, and its parents, for its owner only. Node's recursive mkdir says that a folder of
 * a read-only file system does not exist, and does not return in /proc.
 */
export function makeFolder(folder: string): void {
  try {
    makeIn(folder);
  } catch (error) {
    if (systemCode(error) !== "ENOENT" || dirname(folder) === folder) throw error;
    makeFolder(dirname(folder));
    makeIn(folder);
  }
}

/** Creates a folder in one that exists. Another process may have created it meanwhile. */
function makeIn(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
  }
}

/** Why it cannot be created or written to, and what helps. */
export function folderProblem(error: unknown): string {
  switch (systemCode(error)) {
    case "EROFS":
      return "its file system is read-only; mount a volume there, or name another folder";
    case "EACCES":
      return `user ${process.getuid?.()} may not write there; change its owner, or name another folder (${errorMessage(error)})`;
    default:
      return errorMessage(error);
  }
}

function systemCode(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
