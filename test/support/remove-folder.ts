import { rmSync } from "node:fs";

/** Deletes a folder in which a process that was killed with its daemon may still create a file. */
export function removeFolder(path: string): void {
  for (let triesLeft = 10; ; triesLeft--) {
    try {
      return rmSync(path, { recursive: true, force: true });
    } catch (error) {
      if (triesLeft === 0 || (error as NodeJS.ErrnoException).code !== "ENOTEMPTY") throw error;
    }
  }
}
