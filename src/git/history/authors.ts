import { assert } from "../../base/assert.js";
import { TrawlError } from "../../base/errors.js";
import { longReadLimits } from "../run/child-limits.js";
import { historyEnvironment } from "../run/environment.js";
import { isOid } from "../objects/refs.js";
import { GitChild, type StopSignal } from "../run/run.js";

/** Limit on a name or path in a commit. */
const textBytesMax = 1 << 20;

const nul = 0;
const lineFeed = 10;

/** Receives a history, commit by commit, each before its paths. */
export interface HistoryVisitor {
  /** Returns false if the paths of this commit are not needed. */
  commit(authorName: string, authorEmail: string): boolean;
  /** A path that the commit changed, with one character per byte. */
  path(path: string): void;
}

/**
 * Reports author and changed paths of each commit reachable from `commit`. Merges count as changing nothing; a renamed
 * file is a different file before the rename. The output of one `git log` is parsed as it arrives, so memory does not
 * depend on the length of the history.
 *
 * Throws `git`, `cancelled`, and the visitor's exceptions.
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
  const child = new GitChild({ args, environment: historyEnvironment(), directory: "/" }, limits, null);
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
 * Parses `\0NAME\0EMAIL\0`, then `\nPATH\0` and further `PATH\0` for each commit. An empty path precedes the next
 * commit.
 */
export class LogParser {
  readonly #visitor: HistoryVisitor;
  /** The beginning of a text that is still incomplete. */
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
