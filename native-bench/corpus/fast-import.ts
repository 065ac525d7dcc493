import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface, type Interface } from "node:readline";
import { TrawlError } from "../../src/base/errors.js";
import { ended, start } from "../system/processes.js";

/** A file of a commit: its bytes, or an object of the repository by its id or by what `blob` returned. */
export type FileChange =
  | { readonly kind: "bytes"; readonly path: string; readonly bytes: Buffer }
  | { readonly kind: "object"; readonly path: string; readonly mode: string; readonly oid: string };

/** The parent of a commit. */
export type Parent =
  | { readonly kind: "none" }
  /** The last commit that the same importer made on the branch. */
  | { readonly kind: "previous" }
  /** A revision that the repository had before the importer began. */
  | { readonly kind: "revision"; readonly revision: string };

const identity = "Bench <bench@localhost>";

/** Of the first commit of every generated repository; fixed, so that the same content has the same commit id. */
export const firstCommitSeconds = 1_700_000_000;

/**
 * Deltas against the previous blob find nothing in files of different names, and cost more than the compression. A corpus
 * that is lost in a power failure is made again.
 */
const settings = ["core.compression=1", "pack.depth=0", "core.fsync=none", "fastimport.unpackLimit=0"];

const timeoutMs = 3_600_000;

/**
 * A `git fast-import` that writes commits into one repository. Every commit has the same identity and a date of its
 * caller's choice, so its id follows from its content.
 *
 * Caller guarantees: one call at a time, and `end` after the last one.
 */
export class FastImport {
  readonly #process: ChildProcess;
  readonly #ended: Promise<number>;
  readonly #answers: AsyncIterator<string>;
  readonly #lines: Interface;
  #complaints = "";
  #blobCount = 0;

  constructor(directory: string) {
    this.#process = start(
      "git",
      [...settings.flatMap((setting) => ["-c", setting]), "--git-dir", directory, "fast-import", "--quiet", "--force"],
      { stdio: ["pipe", "pipe", "pipe"] },
    );
    this.#ended = ended(this.#process, timeoutMs);
    this.#ended.catch(() => {});
    this.#lines = createInterface({ input: this.#process.stdout as NodeJS.ReadableStream });
    this.#answers = this.#lines[Symbol.asyncIterator]();
    this.#process.stderr?.on("data", (part: Buffer) => {
      this.#complaints += part.toString();
    });
    this.#process.stdin?.on("error", () => {});
  }

  /** Adds a commit to a branch. What `changes` does not name stays as it is in the parent. */
  async commit(branch: string, parent: Parent, seconds: number, changes: Iterable<FileChange>): Promise<void> {
    const ref = `refs/heads/${branch}`;
    if (parent.kind === "none") await this.#write(Buffer.from(`reset ${ref}\n\n`));
    const origin = parent.kind === "revision" ? `from ${parent.revision}\n` : "";
    await this.#write(Buffer.from(`commit ${ref}\ncommitter ${identity} ${seconds} +0000\ndata 6\ncommit\n${origin}`));
    for (const change of changes) await this.#write(encoded(change));
    await this.#write(Buffer.from("\n"));
  }

  /** Adds a blob and returns its name for this importer. */
  async blob(bytes: Buffer): Promise<string> {
    const mark = `:${++this.#blobCount}`;
    await this.#write(
      Buffer.concat([Buffer.from(`blob\nmark ${mark}\ndata ${bytes.length}\n`), bytes, Buffer.from("\n")]),
    );
    return mark;
  }

  /** Resolves when everything so far is a pack of its own in the repository, and the branches point to it. */
  async checkpoint(): Promise<void> {
    await this.#write(Buffer.from("checkpoint\nprogress written\n"));
    if ((await this.#answers.next()).done === true) await this.end();
  }

  async end(): Promise<void> {
    this.#process.stdin?.end();
    const code = await this.#ended;
    this.#lines.close();
    if (code !== 0) throw new TrawlError("git", `git fast-import: ${this.#complaints.trim()}`);
  }

  async #write(bytes: Buffer): Promise<void> {
    const { stdin } = this.#process;
    if (stdin === null || stdin.destroyed || this.#process.exitCode !== null) return await this.end();
    if (!stdin.write(bytes)) await Promise.race([once(stdin, "drain"), this.#ended]).catch(() => this.end());
  }
}

function encoded(change: FileChange): Buffer {
  if (change.kind === "object") return Buffer.from(`M ${change.mode} ${change.oid} ${quoted(change.path)}\n`);
  const { path, bytes } = change;
  return Buffer.concat([
    Buffer.from(`M 100644 inline ${quoted(path)}\ndata ${bytes.length}\n`),
    bytes,
    Buffer.from("\n"),
  ]);
}

/** A path stands for itself unless git would read it as a quoted one. */
function quoted(path: string): string {
  return /["\\\n]/.test(path) ? JSON.stringify(path) : path;
}
