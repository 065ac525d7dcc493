import { type FileHandle, open } from "node:fs/promises";
import { deserialize, serialize } from "node:v8";
import { uninitializedBytes } from "../base/bytes.js";
import { TrawlError } from "../base/errors.js";
import { crc32 } from "../native/memory/memory.js";

/**
 * The file of a resumable stream is a list of records: the length of the body and its CRC-32, both 32 bits and little
 * endian, and the body, whose first byte is its kind. A record is written in one piece and never changed.
 *
 * - `begin`: who searches for what; the first record
 * - `plan`, `part`, `pinned`: the snapshot of the search, which ends with `pinned`, before the first result
 * - `event`: the length of its name, its name and its data
 * - `end`: its own offset; nothing follows
 *
 * `begin`, `plan` and `part` are values in the format of V8's structured clone.
 */
export const recordKinds = { begin: 1, plan: 2, part: 3, pinned: 4, event: 5, end: 6 } as const;

export type RecordKind = (typeof recordKinds)[keyof typeof recordKinds];

const headerBytes = 8;
/** More than the largest event and the largest plan. */
const bodyBytesMax = 64 << 20;
const readBytes = 256 * 1024;

export interface StoredRecord {
  readonly kind: RecordKind;
  /** Without the kind. */
  readonly body: Buffer;
  /** Where the next record begins. */
  readonly end: number;
}

export function makeRecord(kind: RecordKind, parts: readonly Uint8Array[]): Buffer {
  const record = Buffer.concat([Buffer.alloc(headerBytes), Buffer.of(kind), ...parts]);
  record.writeUInt32LE(record.length - headerBytes, 0);
  record.writeUInt32LE(crc32(record.subarray(headerBytes)), 4);
  return record;
}

export function makeValueRecord(kind: RecordKind, value: unknown): Buffer {
  return makeRecord(kind, [serialize(value)]);
}

export function readValue(record: StoredRecord): unknown {
  return deserialize(record.body);
}

export function makeEventRecord(event: string, data: readonly Uint8Array[]): Buffer {
  const name = Buffer.from(event);
  return makeRecord(recordKinds.event, [Buffer.of(name.length), name, ...data]);
}

export function readEvent({ body }: StoredRecord): { readonly event: string; readonly data: Buffer } {
  const dataFrom = 1 + body[0];
  return { event: body.toString("latin1", 1, dataFrom), data: body.subarray(dataFrom) };
}

export function makeEndRecord(offset: number): Buffer {
  const at = Buffer.alloc(8);
  at.writeDoubleLE(offset);
  return makeRecord(recordKinds.end, [at]);
}

const endRecordBytes = makeEndRecord(0).length;

/** Whether the file has been written to its end. */
export async function hasEnd(file: FileHandle, byteCount: number): Promise<boolean> {
  const from = byteCount - endRecordBytes;
  if (from < 0) return false;
  const { buffer, bytesRead } = await file.read(Buffer.alloc(endRecordBytes), 0, endRecordBytes, from);
  return bytesRead === endRecordBytes && buffer.equals(makeEndRecord(from));
}

/** Reads records one after the other, in large pieces. */
export class RecordReader {
  readonly #file: FileHandle;
  #offset: number;
  /** What has been read and not been returned. Its bytes are not overwritten, because records refer to them. */
  #bytes: Buffer = Buffer.alloc(0);

  constructor(file: FileHandle, offset: number) {
    this.#file = file;
    this.#offset = offset;
  }

  /** The next record; undefined if there is no whole and undamaged one before this offset. */
  async next(limit: number): Promise<StoredRecord | undefined> {
    if (!(await this.#fill(headerBytes, limit))) return undefined;
    const bodyBytes = this.#bytes.readUInt32LE(0);
    if (bodyBytes < 1 || bodyBytes > bodyBytesMax) return undefined;
    const checksum = this.#bytes.readUInt32LE(4);
    const recordBytes = headerBytes + bodyBytes;
    if (!(await this.#fill(recordBytes, limit))) return undefined;
    const body = this.#bytes.subarray(headerBytes, recordBytes);
    if (crc32(body) !== checksum) return undefined;
    this.#bytes = this.#bytes.subarray(recordBytes);
    this.#offset += recordBytes;
    return { kind: body[0] as RecordKind, body: body.subarray(1), end: this.#offset };
  }

  /** Reads until there are this many bytes; false if there are not as many before the limit. */
  async #fill(byteCount: number, limit: number): Promise<boolean> {
    if (this.#bytes.length >= byteCount) return true;
    const left = limit - this.#offset;
    if (left < byteCount) return false;
    const fresh = uninitializedBytes(Math.min(left, Math.max(readBytes, byteCount)));
    this.#bytes.copy(fresh);
    let filled = this.#bytes.length;
    while (filled < byteCount) {
      const { bytesRead } = await this.#file.read(fresh, filled, fresh.length - filled, this.#offset + filled);
      if (bytesRead === 0) return false;
      filled += bytesRead;
    }
    this.#bytes = fresh.subarray(0, filled);
    return true;
  }
}

/** Appends records in order. They count when they are written: a crash of the process loses none of them. */
export class RecordWriter {
  readonly #file: FileHandle;
  readonly #onWritten: (byteCount: number) => void;
  readonly #onError: (error: unknown) => void;
  #queue: Buffer[] = [];
  #isWriting = false;
  #hasFailed = false;
  #idle: (() => void) | undefined;
  /** Bytes that are not written yet. */
  pendingBytes = 0;
  /** The size of the file when everything is written. */
  byteCount: number;

  /** `onWritten` is called with the number of bytes of each write, when they can be read. */
  constructor(
    file: FileHandle,
    byteCount: number,
    onWritten: (byteCount: number) => void,
    onError: (error: unknown) => void,
  ) {
    this.#file = file;
    this.byteCount = byteCount;
    this.#onWritten = onWritten;
    this.#onError = onError;
  }

  add(record: Buffer): void {
    if (this.#hasFailed) return;
    this.#queue.push(record);
    this.pendingBytes += record.length;
    this.byteCount += record.length;
    if (!this.#isWriting) void this.#write();
  }

  /** Resolves when everything is written, or could not be, and the file is closed. */
  async close(): Promise<void> {
    if (this.#isWriting)
      await new Promise<void>((resolve) => {
        this.#idle = resolve;
      });
    await this.#file.close();
  }

  async #write(): Promise<void> {
    this.#isWriting = true;
    while (this.#queue.length > 0) {
      const bytes = Buffer.concat(this.#queue);
      this.#queue = [];
      try {
        for (let from = 0; from < bytes.length; )
          from += (await this.#file.write(bytes, from, bytes.length - from)).bytesWritten;
      } catch (error) {
        this.#hasFailed = true;
        this.#queue = [];
        this.#onError(error);
        break;
      }
      this.pendingBytes -= bytes.length;
      this.#onWritten(bytes.length);
    }
    this.#isWriting = false;
    this.#idle?.();
  }
}

/** Creates the file with its first record, or throws `storage`. */
export async function createFile(path: string, begin: unknown): Promise<{ file: FileHandle; byteCount: number }> {
  let file: FileHandle | undefined;
  try {
    file = await open(path, "ax", 0o600);
    const record = makeValueRecord(recordKinds.begin, begin);
    await file.writeFile(record);
    return { file, byteCount: record.length };
  } catch (cause) {
    await file?.close();
    throw new TrawlError("storage", `the file of a resumable stream could not be created: ${String(cause)}`, { cause });
  }
}
