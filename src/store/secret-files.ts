import { createHash, timingSafeEqual } from "node:crypto";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { errorMessage, TrawlError } from "../base/errors.js";
import { replaceFile } from "../base/sync-to-disk.js";

const prefix = "stored:";

/**
 * Secrets from the URLs of repositories, each in its own file that only the daemon's account may read. The catalog
 * contains only the file name, so neither it nor its snapshots contain secrets.
 */
export class SecretFiles {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The catalog's reference to the secret of this repository. */
  static reference(repositoryName: string): string {
    return `${prefix}${createHash("sha256").update(repositoryName).digest("hex").slice(0, 32)}`;
  }

  /** The file of a reference; undefined for another kind of reference. */
  static path(folder: string, reference: string): string | undefined {
    return reference.startsWith(prefix) ? join(folder, reference.slice(prefix.length)) : undefined;
  }

  /** Stores a secret durably. Resolves with whether it differs from the previous one. */
  async keep(reference: string, secret: string): Promise<boolean> {
    const path = this.#path(reference);
    const wanted = Buffer.from(secret);
    const known = await readFile(path).catch(() => undefined);
    if (known !== undefined && known.length === wanted.length && timingSafeEqual(known, wanted)) return false;
    try {
      await replaceFile(path, wanted);
      return true;
    } catch (error) {
      throw new TrawlError("storage", `cannot store a secret in ${this.#folder}: ${errorMessage(error)}`, {
        cause: error,
      });
    }
  }

  /** Deletes the secret of a reference, if it is stored here. Idempotent. */
  async forget(reference: string): Promise<void> {
    if (reference.startsWith(prefix)) await rm(this.#path(reference), { force: true });
  }

  #path(reference: string): string {
    const path = SecretFiles.path(this.#folder, reference);
    if (path === undefined) throw new TrawlError("internal", "a reference of another kind has no file");
    return path;
  }
}
