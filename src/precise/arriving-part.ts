import { rename, rm } from "node:fs/promises";
import { monotonicMs } from "../base/deadline.js";
import { noUpload, type PartBytes, type UnfinishedUploads } from "./unfinished-uploads.js";
import { UploadFile } from "./upload-file.js";

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
