import { longReadLimits } from "../run/child-limits.js";
import { localEnvironment } from "../run/environment.js";
import { GitChild, type StopSignal } from "../run/run.js";

const newline = 10;
const space = 32;

/** A commit graph holds the lowest 34 bits of a date, which is 11 digits from here on. */
const farDate = 2 ** 34;
const farDigits = String(farDate).length;

/**
 * Whether any commit of the mirror has a committer date that a commit graph does not hold; a negative date is one of them.
 * Reads every commit, at 100,000 per second. Throws `git` if the mirror is damaged, `cancelled` if stopped.
 */
export async function hasFarDates(directory: string, stop: StopSignal): Promise<boolean> {
  const args = ["-c", "core.commitGraph=false", `--git-dir=${directory}`, "rev-list", "--timestamp", "--all"];
  const limits = { timeoutMs: Infinity, silenceMs: Infinity, process: longReadLimits, stop };
  const child = new GitChild({ args, environment: localEnvironment(), directory: "/" }, limits, null);
  let isFound = false;
  // The beginning of a line that is not complete.
  let rest: Buffer = Buffer.alloc(0);
  child.stdin.end();
  child.stdout.on("data", (chunk: Buffer) => {
    const data = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let at = 0;
    for (let end = data.indexOf(newline); end >= 0; end = data.indexOf(newline, at)) {
      const dateEnd = data.indexOf(space, at);
      if (dateEnd - at >= farDigits && Number(data.toString("latin1", at, dateEnd)) >= farDate) isFound = true;
      at = end + 1;
    }
    rest = data.subarray(at);
    if (isFound) child.kill();
  });
  const code = await child.ended.catch((error: unknown) => {
    if (isFound) return 0;
    throw error;
  });
  if (!isFound && code !== 0) throw child.exitError(code);
  return isFound;
}
