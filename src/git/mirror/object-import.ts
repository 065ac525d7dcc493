import { createHash } from "node:crypto";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { type GitCommand, GitChild, type RunLimits } from "../run/run.js";
import { filesIn } from "./mirror-directory.js";

/** A running `git fast-import` that gets one object after the other, so that not all are in memory. */
export class ObjectImport {
  readonly #child: GitChild;
  readonly #directory: string;
  readonly #ended: Promise<void>;

  constructor(directory: string, command: GitCommand, limits: Omit<RunLimits, "outputBytesMax">) {
    this.#directory = directory;
    this.#child = new GitChild(command, limits, null);
    this.#child.stdout.resume();
    this.#ended = this.#child.ended.then((code) => {
      if (code !== 0) throw this.#child.exitError(code);
    });
    this.#ended.catch(() => undefined);
  }

  async addBlob(contents: Buffer): Promise<void> {
    await this.#send(Buffer.from(`blob\ndata ${contents.length}\n`));
    await this.#send(contents);
    await this.#send(Buffer.from("\n"));
  }

  /** Resolves when git has written everything, and the commands in `text`, of one character per byte, are carried out. */
  async finish(text: string): Promise<void> {
    await this.#send(Buffer.from(`${text}${text === "" ? "" : "\n"}done\n`, "latin1"));
    this.#child.stdin.end();
    await this.#ended;
  }

  /** Stops git if it runs. It leaves reports of its failures in the mirror, which nobody reads. */
  close(): void {
    this.#child.kill();
    for (const name of filesIn(this.#directory, /^fast_import_crash_/)) rmSync(join(this.#directory, name));
  }

  async #send(part: Buffer): Promise<void> {
    if (this.#child.stdin.write(part)) return;
    const drained = once(this.#child.stdin, "drain").then(
      () => undefined,
      () => this.#ended,
    );
    await Promise.race([drained, this.#ended]);
  }
}

/** The oid of a blob, in the format of another oid. */
export function blobOid(contents: Buffer, other: string): string {
  const hash = createHash(other.length === 64 ? "sha256" : "sha1");
  return hash.update(`blob ${contents.length}\0`).update(contents).digest("hex");
}
