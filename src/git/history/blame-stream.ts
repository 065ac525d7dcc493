import { assert } from "../../base/assert.js";
import { TrawlError } from "../../base/errors.js";
import { isOid } from "../objects/refs.js";
import { readLimits } from "../run/child-limits.js";
import { historyEnvironment } from "../run/environment.js";
import { GitChild, type GitOutput, type StopSignal, toGitOutput } from "../run/run.js";
import { unquotePath, type BlameHunk } from "./blame.js";

/** Lines of the blamed file with the same origin. */
export type FoundHunk = Omit<BlameHunk, "byteCount" | "previous">;

/** Limit on a line of output, which has a path or the subject of a commit. */
const lineBytesMax = 1 << 20;

/**
 * The origin of each line of a file, in the order in which git finds them: lines of newer commits mostly come first. git
 * waits while the caller does not ask for more. Yields the hunks of each read of the pipe together; they cover each line
 * once, passing over the ignored commits as `readBlame` does. When the caller ends it, git is killed.
 */
export async function* parseBlameOutput(output: GitOutput): AsyncGenerator<readonly FoundHunk[], void> {
  try {
    const parser = new IncrementalBlame();
    for await (const chunk of output.stdout) {
      const hunks = parser.add(chunk as Buffer);
      if (hunks.length > 0) yield hunks;
    }
    await output.ended;
  } finally {
    output.kill();
  }
}

/** The output of git for `parseBlameOutput`. Ends with `git` if there is no such file, with `cancelled` if stopped or out of time. */
export function openBlame(
  directory: string,
  { commit, path }: { readonly commit: string; readonly path: string },
  ignored: readonly string[],
  { timeoutMs, stop }: { readonly timeoutMs: number; readonly stop: StopSignal },
): GitOutput {
  assert(isOid(commit), "a file is read by oid");
  const ignoring = ignored.length === 0 ? [] : ["--ignore-revs-file=/dev/stdin"];
  const args = [`--git-dir=${directory}`, "blame", "--incremental", ...ignoring, commit, "--", path];
  const limits = { timeoutMs, silenceMs: Infinity, process: readLimits, stop };
  const child = new GitChild({ args, environment: historyEnvironment(), directory: "/" }, limits, null);
  child.stdin.end(ignored.map((oid) => `${oid}\n`).join(""));
  return toGitOutput(child);
}

/** Parses `OID LINE LINE COUNT`, attributes of the commit, and `filename PATH`, which ends a hunk. */
export class IncrementalBlame {
  #rest: Buffer = Buffer.alloc(0);
  #header: RegExpExecArray | null = null;

  /** The hunks that end in this part of the output. */
  add(part: Buffer): FoundHunk[] {
    const bytes = this.#rest.length === 0 ? part : Buffer.concat([this.#rest, part]);
    const hunks: FoundHunk[] = [];
    let from = 0;
    for (let end = bytes.indexOf(lineFeed); end >= 0; end = bytes.indexOf(lineFeed, from)) {
      const hunk = this.#take(bytes.toString("utf8", from, end));
      if (hunk !== undefined) hunks.push(hunk);
      from = end + 1;
    }
    this.#rest = Buffer.from(bytes.subarray(from));
    if (this.#rest.length > lineBytesMax) throw new TrawlError("git", "git blame wrote an endless line");
    return hunks;
  }

  #take(line: string): FoundHunk | undefined {
    if (!line.startsWith(pathPrefix)) {
      this.#header = headerPattern.exec(line) ?? this.#header;
      return undefined;
    }
    const [, commit, startLine, lineCount] = this.#header ?? [];
    if (commit === undefined) throw new TrawlError("git", "git blame wrote something unexpected");
    return {
      commit,
      startLine: Number(startLine),
      lineCount: Number(lineCount),
      path: unquotePath(line.slice(pathPrefix.length)),
    };
  }
}

const pathPrefix = "filename ";
const headerPattern = /^([0-9a-f]{40,64}) \d+ (\d+) (\d+)$/;
const lineFeed = 10;
