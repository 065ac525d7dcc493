import { Readable } from "node:stream";
import { assert } from "../../base/assert.js";
import { TrawlError } from "../../base/errors.js";
import { isOid } from "../objects/refs.js";
import { longReadLimits } from "../run/child-limits.js";
import { historyEnvironment } from "../run/environment.js";
import { GitChild, type StopSignal } from "../run/run.js";
import { PatchParser } from "./patch-parser.js";
import { patchFormat, type PatchCommit, type PatchLimits, type PatchVisitor } from "./patch-visitor.js";

/** Limits that indexing and reading share, so that both find the same. */
export const usualPatchLimits: PatchLimits = {
  fileBytesMax: 2 << 20,
  commitBytesMax: 128 << 20,
  messageBytesMax: 1 << 20,
};

/**
 * After this many commits at which git failed the mirror counts as damaged: each costs a new process, and without a
 * limit that would be one per commit.
 */
const failureCountMax = 1_000;

/** Oids per write to git. */
const blockCommits = 1_000;

export interface PatchRequest {
  /** Directory of the mirror. */
  readonly directory: string;
  /** Oids in the order in which they are reported. */
  readonly commits: readonly string[];
  /** Without the changes, which takes a twentieth of the time. */
  readonly headersOnly?: boolean;
  readonly limits: PatchLimits;
  readonly stop: StopSignal;
}

/** Also receives the commits that the mirror does not have, or cannot read. */
export interface PatchReader extends PatchVisitor {
  missing(oid: string): void;
}

/**
 * Reads header and changes of each commit, in comparison with its parent: the one source of patches, for the index and
 * for commits that are not indexed. A commit without parents added all its files; a merge changed none. Renames are a
 * removal and an addition. Replacement objects and grafts are ignored.
 *
 * The output of one `git diff-tree` is parsed as it arrives; while the reader is busy, git waits. If git fails at a
 * commit, because an object is damaged or a limit is reached, that commit is reported as incomplete or missing, and git
 * is started again for the ones after it.
 *
 * Returns the number of commits that were reported: all of them, unless the reader ended it. Throws `git` if git fails
 * too often, cannot read any commit, or cannot be started, `cancelled` if stopped, and the reader's exceptions.
 */
export async function readPatches(request: PatchRequest, reader: PatchReader): Promise<number> {
  assert(request.commits.every(isOid), "commits are read by oid");
  const progress = new Progress(request.commits, reader);
  for (let failures = 0; !progress.isDone; failures++) {
    const failure = await runOnce(request, progress);
    if (failure === undefined) break;
    if (failure.code !== "git" || failures === failureCountMax) throw failure;
    progress.skipOne();
    // Then the mirror is at fault, or git, rather than a commit.
    if (progress.isDone && !progress.hasRead) throw failure;
  }
  return progress.next;
}

/** Returns why git ended before the last commit; undefined if it did not, or if the reader ended it. */
async function runOnce(
  { directory, headersOnly, limits, stop }: PatchRequest,
  progress: Progress,
): Promise<TrawlError | undefined> {
  if (stop()) return stopped();
  const runLimits = { timeoutMs: Infinity, silenceMs: Infinity, process: longReadLimits, stop };
  const args = [
    `--git-dir=${directory}`,
    ...(headersOnly === true ? headerArguments : ["diff-tree", ...patchArguments]),
  ];
  const child = new GitChild({ args, environment: historyEnvironment(), directory: "/" }, runLimits, null);
  const parser = new PatchParser(progress, limits);
  let thrown: unknown;
  Readable.from(joinBlocks(progress.rest())).pipe(child.stdin);
  child.stdout.on("data", (chunk: Buffer) => {
    if (thrown !== undefined || progress.isDone) return;
    // The timer that checks it does not run while chunk after chunk is parsed.
    if (stop()) {
      child.fail(stopped());
      return;
    }
    try {
      if (!parser.add(chunk)) child.kill();
    } catch (error) {
      thrown = error;
      child.kill();
    }
  });
  const ended = await child.ended.catch((error: unknown) => error as TrawlError);
  if (thrown !== undefined) throw thrown;
  if (progress.isEnded) return undefined;
  if (ended === 0) {
    parser.finish(true);
    progress.finish();
    return undefined;
  }
  progress.wasInCommit = parser.isInCommit;
  parser.finish(false);
  return typeof ended === "number" ? child.exitError(ended) : ended;
}

function stopped(): TrawlError {
  return new TrawlError("cancelled", "git diff-tree was stopped");
}

/** Arguments of `git log`, whose output is that of `git diff-tree` without the changes. */
const headerArguments: readonly string[] = [
  "log",
  "--no-walk=unsorted",
  // It has no effect on what an earlier --stdin reads.
  "--ignore-missing",
  "--stdin",
  "--no-patch",
  "-z",
  "--no-show-signature",
  "--encoding=UTF-8",
  "--date=raw",
  `--format=${patchFormat}`,
];

/** Arguments of `git diff-tree`, whose output `PatchParser` understands. */
export const patchArguments: readonly string[] = [
  "--stdin",
  "-r",
  "-z",
  "--root",
  "--raw",
  "--patch",
  "--unified=1",
  "--inter-hunk-context=0",
  "--diff-algorithm=myers",
  "--no-renames",
  "--indent-heuristic",
  "--no-ext-diff",
  "--no-textconv",
  "--no-color",
  "--no-abbrev",
  "--full-index",
  "--submodule=short",
  "--ignore-submodules=none",
  "--always",
  "--encoding=UTF-8",
  "--date=raw",
  `--format=${patchFormat}`,
];

function* joinBlocks(commits: readonly string[]): Generator<string> {
  for (let at = 0; at < commits.length; at += blockCommits) {
    yield `${commits.slice(at, at + blockCommits).join("\n")}\n`;
  }
}

/** Passes commits on to the reader, and tells it of those that git left out. */
class Progress implements PatchVisitor {
  /** Index of the next commit to be reported. */
  next = 0;
  /** Whether the reader wants no more. */
  isEnded = false;
  /** Whether git failed after the header of a commit. */
  wasInCommit = false;
  /** Whether any commit was read. */
  hasRead = false;
  readonly #commits: readonly string[];
  readonly #reader: PatchReader;

  constructor(commits: readonly string[], reader: PatchReader) {
    this.#commits = commits;
    this.#reader = reader;
  }

  get isDone(): boolean {
    return this.isEnded || this.next === this.#commits.length;
  }

  rest(): readonly string[] {
    return this.#commits.slice(this.next);
  }

  commit(commit: PatchCommit): void {
    while (this.next < this.#commits.length && this.#commits[this.next] !== commit.oid) this.#skip();
    if (this.next === this.#commits.length) throw new TrawlError("git", `git diff-tree wrote another commit`);
    this.hasRead = true;
    this.#reader.commit(commit);
  }

  file(file: Parameters<PatchVisitor["file"]>[0]): void {
    this.#reader.file(file);
  }

  endCommit(isComplete: boolean): boolean {
    this.next++;
    if (!this.#reader.endCommit(isComplete)) this.isEnded = true;
    return !this.isEnded && this.next < this.#commits.length;
  }

  /** git has ended: it has none of the other commits. */
  finish(): void {
    while (!this.isDone) this.#skip();
  }

  /** git failed: at the commit whose header was read, which is counted, or at the next one. */
  skipOne(): void {
    if (!this.wasInCommit && !this.isDone) this.#skip();
    this.wasInCommit = false;
  }

  #skip(): void {
    this.#reader.missing(this.#commits[this.next++]);
  }
}
