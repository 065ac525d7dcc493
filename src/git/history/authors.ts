import { assert } from "../../base/assert.js";
import { TrawlError } from "../../base/errors.js";
import { longReadLimits } from "../run/child-limits.js";
import { localEnvironment } from "../run/environment.js";
import { isOid } from "../mirror/refs.js";
import { GitChild, type StopSignal } from "../run/run.js";

/** No name and no path of a commit is longer. */
const textBytesMax = 1 << 20;

const nul = 0;
const lineFeed = 10;

/** Told of a history, commit by commit, each before its paths. */
export interface HistoryVisitor {
  /** False when the paths of this commit are not wanted. */
  commit(authorName: string, authorEmail: string): boolean;
  /** A path that the commit changed, byte by byte a character. */
  path(path: string): void;
}

/**
 * Tells of each commit that `commit` reaches who wrote it and which paths it changed. Merges change nothing; a file
 * that was renamed is another one before. One `git log` is read as it comes, so memory does not depend on the length of
 * the history.
 *
 * Throws `git`, `cancelled`, and what the visitor throws.
 */
export async function visitHistory(
  directory: string,
  commit: string,
  visitor: HistoryVisitor,
  stop: StopSignal,
): Promise<void> {
  assert(isOid(commit), "a history is read from an oid");
  const flags = [
    "-z",
    "--name-only",
    "--no-renames",
    "--no-ext-diff",
    "--no-mailmap",
    "--no-show-signature",
    "--format=%x00%an%x00%ae",
  ];
  const args = [`--git-dir=${directory}`, "log", ...flags, "--end-of-options", commit, "--"];
  const limits = { timeoutMs: Infinity, silenceMs: Infinity, process: longReadLimits, stop };
  const child = new GitChild({ args, environment: localEnvironment(), directory: "/" }, limits, null);
  const parser = new LogParser(visitor);
  let failure: unknown;
  child.stdin.end();
  child.stdout.on("data", (part: Buffer) => {
    if (failure !== undefined) return;
    try {
      parser.add(part);
    } catch (error) {
      failure = error;
      child.kill();
    }
  });
  const ended = await child.ended.catch((error: unknown) => {
    throw failure ?? error;
  });
  if (failure !== undefined) throw failure;
  if (ended !== 0) throw child.exitError(ended);
}

/**
 * Reads `\0NAME\0EMAIL\0`, then `\nPATH\0` and further `PATH\0` for each commit. An empty path is where the next
 * begins.
 */
export class LogParser {
  readonly #visitor: HistoryVisitor;
  /** The start of a text whose end has not come. */
  #rest: Buffer = Buffer.alloc(0);
  #state: "start" | "name" | "email" | "first-path" | "path" = "start";
  #name = "";
  #isWanted = false;

  constructor(visitor: HistoryVisitor) {
    this.#visitor = visitor;
  }

  add(part: Buffer): void {
    const bytes = this.#rest.length === 0 ? part : Buffer.concat([this.#rest, part]);
    let from = 0;
    for (let end = bytes.indexOf(nul); end >= 0; end = bytes.indexOf(nul, from)) {
      this.#take(bytes, from, end);
      from = end + 1;
    }
    this.#rest = Buffer.from(bytes.subarray(from));
    if (this.#rest.length > textBytesMax) throw new TrawlError("git", "git log wrote an endless name");
  }

  #take(bytes: Buffer, from: number, end: number): void {
    switch (this.#state) {
      case "start":
        this.#state = "name";
        return;
      case "name":
        this.#name = bytes.toString("utf8", from, end);
        this.#state = "email";
        return;
      case "email":
        this.#isWanted = this.#visitor.commit(this.#name, bytes.toString("utf8", from, end));
        this.#state = "first-path";
        return;
      case "first-path":
      case "path":
        this.#takePath(bytes, from, end);
    }
  }

  #takePath(bytes: Buffer, from: number, end: number): void {
    if (from === end) {
      this.#state = "name";
      return;
    }
    const start = this.#state === "first-path" && bytes[from] === lineFeed ? from + 1 : from;
    this.#state = "path";
    if (this.#isWanted) this.#visitor.path(bytes.toString("latin1", start, end));
  }
}
