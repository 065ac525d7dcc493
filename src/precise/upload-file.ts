import { type FileHandle, open } from "node:fs/promises";
import { errorMessage, TrawlError } from "../base/errors.js";

/** Unwritten bytes from which on the sender has to wait. */
const unwrittenBytesMax = 1 << 20;

/** A file that is written as its bytes arrive. */
export class UploadFile {
  readonly #file: FileHandle;
  #unwritten: Uint8Array[] = [];
  #unwrittenBytes = 0;
  #byteCount = 0;
  /** Settles when everything before has been written. */
  #written: Promise<void> = Promise.resolve();
  #isClosed = false;

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  static async create(path: string): Promise<UploadFile> {
    return new UploadFile(await open(path, "w", 0o600));
  }

  get byteCount(): number {
    return this.#byteCount;
  }

  /** Takes the bytes; the promise resolves when more may come. Rejects if the file cannot be written. */
  async write(bytes: Uint8Array): Promise<void> {
    this.#unwritten.push(bytes);
    this.#unwrittenBytes += bytes.length;
    this.#byteCount += bytes.length;
    if (this.#unwrittenBytes >= unwrittenBytesMax) await this.#flush();
  }

  /** Makes everything durable, and closes the file. */
  async finish(): Promise<void> {
    try {
      await this.#flush();
      await this.#file.sync();
    } finally {
      await this.close();
    }
  }

  /** Idempotent. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#written.catch(() => undefined);
    await this.#file.close();
  }

  #flush(): Promise<void> {
    const bytes = Buffer.concat(this.#unwritten);
    this.#unwritten = [];
    this.#unwrittenBytes = 0;
    this.#written = this.#written.then(async () => {
      if (this.#isClosed) return;
      try {
        for (let at = 0; at < bytes.length; ) at += (await this.#file.write(bytes, at)).bytesWritten;
      } catch (error) {
        throw new TrawlError("insufficient-storage", `the upload cannot be written: ${errorMessage(error)}`, {
          cause: error,
        });
      }
    });
    return this.#written;
  }
}
