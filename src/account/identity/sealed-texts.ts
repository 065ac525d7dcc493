import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { errorMessage, TrawlError } from "../../base/errors.js";
import { replaceFile } from "../../base/sync-to-disk.js";

const algorithm = "aes-256-gcm";
const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;
const version = "1.";

/**
 * Encrypts texts that are stored in records, with a key in a file of its own that only the daemon's account may read. Neither backups nor
 * snapshots of the catalog have the key, so that what is sealed is worth nothing to whoever reads them.
 */
export class SealedTexts {
  readonly #path: string;
  #key: Promise<Buffer> | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** `about` says whose text it is: it must be the same to open it. Rejects with `storage` if the key cannot be read or stored. */
  async seal(text: string, about: string): Promise<string> {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv(algorithm, await this.#findKey(), nonce).setAAD(Buffer.from(about));
    const sealed = Buffer.concat([nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
    return version + sealed.toString("base64url");
  }

  /** Undefined if it was sealed with another key, or about something else, or is damaged. Rejects as `seal` does. */
  async open(sealed: string, about: string): Promise<string | undefined> {
    const bytes = Buffer.from(sealed.slice(version.length), "base64url");
    if (!sealed.startsWith(version) || bytes.length < nonceBytes + tagBytes) return undefined;
    const decipher = createDecipheriv(algorithm, await this.#findKey(), bytes.subarray(0, nonceBytes), {
      authTagLength: tagBytes,
    });
    decipher.setAAD(Buffer.from(about)).setAuthTag(bytes.subarray(-tagBytes));
    try {
      return decipher.update(bytes.subarray(nonceBytes, -tagBytes), undefined, "utf8") + decipher.final("utf8");
    } catch {
      return undefined;
    }
  }

  /** Made when it is first needed and there is no file; one that cannot be read or stored is looked for again. */
  #findKey(): Promise<Buffer> {
    this.#key ??= this.#readKey().catch((error: unknown) => {
      this.#key = undefined;
      throw new TrawlError("storage", `the key in ${this.#path} cannot be used: ${errorMessage(error)}`, {
        cause: error,
      });
    });
    return this.#key;
  }

  async #readKey(): Promise<Buffer> {
    const known = await readFile(this.#path).catch((error: unknown) => {
      if ((error as { readonly code?: unknown }).code === "ENOENT") return undefined;
      throw error;
    });
    if (known?.length === keyBytes) return known;
    // It may be put right: what was sealed with it would be lost.
    if (known !== undefined)
      throw new TrawlError(
        "storage",
        `it has ${known.length} bytes instead of ${keyBytes}: put the right file in its place, or delete it, which ends the sessions that depend on it`,
      );
    const key = randomBytes(keyBytes);
    await replaceFile(this.#path, key);
    return key;
  }
}
