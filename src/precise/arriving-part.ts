import { rename, rm, type FileHandle, open } from "node:fs/promises";
import { monotonicMs } from "../base/deadline.js";
import { noUpload, type PartBytes, type UnfinishedUploads } from "./unfinished-uploads.js";
import { errorMessage, TrawlError } from "../base/errors.js";

/** Unwritten bytes from which on the sender has to wait. */
const unwrittenBytesMax = 1 << 20;

/** A file that is written as its bytes arrive. */
class UploadFile {
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

/**
 * A part of an upload as it arrives. It has its own file until it is complete: what was cut off is no part, and neither is what
 * arrives when the upload has ended.
 */
export class ArrivingPart {
  readonly #uploads: UnfinishedUploads;
  readonly #id: number;
  readonly #bytes: PartBytes;
  readonly #file: UploadFile;
  readonly #path: string;
  readonly #target: string;
  #isFinished = false;

  private constructor(
    uploads: UnfinishedUploads,
    id: number,
    bytes: PartBytes,
    file: UploadFile,
    path: string,
    target: string,
  ) {
    this.#uploads = uploads;
    this.#id = id;
    this.#bytes = bytes;
    this.#file = file;
    this.#path = path;
    this.#target = target;
  }

  /** `path` is its file while it arrives, `target` later. Throws `not-found` if the upload is not open. */
  static async create(
    uploads: UnfinishedUploads,
    id: number,
    part: number,
    path: string,
    target: string,
  ): Promise<ArrivingPart> {
    const bytes = uploads.openPart(id, part);
    try {
      return new ArrivingPart(uploads, id, bytes, await UploadFile.create(path), path, target);
    } catch (error) {
      uploads.discardPart(id, bytes);
      throw error;
    }
  }

  /** Rejects like `UnfinishedUploads.grow`, and if the file cannot be written. */
  async write(bytes: Uint8Array): Promise<void> {
    this.#uploads.grow(this.#id, this.#bytes, bytes.length);
    await this.#file.write(bytes);
  }

  /** Makes it durable. Rejects with `not-found` if the upload is not open any more. */
  async finish(): Promise<void> {
    await this.#file.finish();
    this.#uploads.requireOpen(this.#id);
    await rename(this.#path, this.#target);
    this.#isFinished = true;
    this.#uploads.arrive(this.#id, this.#bytes, monotonicMs());
    if (this.#uploads.has(this.#id)) return;
    await rm(this.#target, { force: true });
    throw noUpload(this.#id);
  }

  /** Deletes it, unless it is complete. */
  async discard(): Promise<void> {
    await this.#file.close();
    if (this.#isFinished) return;
    await rm(this.#path, { force: true });
    this.#uploads.discardPart(this.#id, this.#bytes);
  }
}
