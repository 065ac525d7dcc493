import { uninitializedBytes } from "../../base/bytes.js";

const bytesStart = 1 << 16;
const countStart = 1 << 10;
const space = 32;

/** With more bytes than this the memory is released after the commit. */
const keptBytesMax = 4 << 20;

/**
 * The list of files that git writes before the changes of a commit: path, status and the oids of the blobs. As bytes one
 * after the other, because a commit may have millions.
 */
export class PatchRecords {
  count = 0;
  #bytes: Buffer = uninitializedBytes(bytesStart);
  #byteCount = 0;
  /** Where the oids of each record begin, which are followed by its path; then the end of the last one. */
  #start = new Uint32Array(countStart);
  #oidsLength = new Uint8Array(countStart);
  #status = new Uint8Array(countStart);

  clear(): void {
    this.count = 0;
    this.#byteCount = 0;
    if (this.#bytes.length <= keptBytesMax) return;
    this.#bytes = uninitializedBytes(bytesStart);
    this.#start = new Uint32Array(countStart);
    this.#oidsLength = new Uint8Array(countStart);
    this.#status = new Uint8Array(countStart);
  }

  /** `:MODE MODE OID OID STATUS`; its path is added next. */
  add(record: Buffer): void {
    if (this.count + 2 > this.#start.length) this.#grow();
    const statusAt = record.lastIndexOf(space) + 1;
    const oidsAt = record.indexOf(space, record.indexOf(space) + 1) + 1;
    const oids = record.subarray(oidsAt, Math.max(oidsAt, statusAt - 1));
    this.#status[this.count] = record[statusAt] ?? 0;
    // Others are not oids: those of SHA-256 have 64 digits each.
    this.#oidsLength[this.count] = oids.length <= 129 ? oids.length : 0;
    if (oids.length <= 129) this.#append(oids);
  }

  addPath(path: Buffer): void {
    this.#append(path);
    this.#start[++this.count] = this.#byteCount;
  }

  status(record: number): string {
    return String.fromCharCode(this.#status[record]);
  }

  /** Valid until `clear`, or until another record is added. */
  path(record: number): Buffer {
    return this.#bytes.subarray(this.#start[record] + this.#oidsLength[record], this.#start[record + 1]);
  }

  /** The oid before and after the change; zeros if there is none. */
  oids(record: number): string[] {
    const from = this.#start[record];
    return this.#bytes.toString("latin1", from, from + this.#oidsLength[record]).split(" ");
  }

  #append(bytes: Buffer): void {
    if (this.#byteCount + bytes.length > this.#bytes.length) {
      const grown = uninitializedBytes(Math.max(this.#bytes.length * 2, this.#byteCount + bytes.length));
      this.#bytes.copy(grown, 0, 0, this.#byteCount);
      this.#bytes = grown;
    }
    bytes.copy(this.#bytes, this.#byteCount);
    this.#byteCount += bytes.length;
  }

  #grow(): void {
    const length = this.#start.length * 2;
    const [start, oidsLength, status] = [new Uint32Array(length), new Uint8Array(length), new Uint8Array(length)];
    start.set(this.#start);
    oidsLength.set(this.#oidsLength);
    status.set(this.#status);
    [this.#start, this.#oidsLength, this.#status] = [start, oidsLength, status];
  }
}
