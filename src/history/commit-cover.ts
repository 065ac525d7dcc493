import { assert } from "../base/assert.js";
import { setBit } from "../base/bits.js";
import type { CommitList } from "../git/history/commit-list.js";
import type { HistoryReader } from "./history-reader.js";

/**
 * Which history shards have the commits of a list. A commit that several shards have belongs to the first of them, so
 * that it is one result.
 */
export class CommitCover {
  readonly #list: CommitList;
  readonly #table: OidTable;
  readonly #isCovered: Uint8Array;

  constructor(list: CommitList) {
    assert(list.oids.length === list.count * list.oidBytes, "a list of commits has an oid for each");
    this.#list = list;
    this.#table = new OidTable(list.oids, list.oidBytes);
    this.#isCovered = new Uint8Array(list.count);
  }

  /** One bit for each commit of the shard, set if it is in the list and in no shard that was added before. */
  add(reader: HistoryReader): Uint32Array {
    const visible = new Uint32Array(new SharedArrayBuffer(Math.ceil(reader.commitCount / 32) * 4));
    if (reader.oidBytes !== this.#list.oidBytes) return visible;
    for (let commit = 0; commit < reader.commitCount; commit++) {
      const at = this.#table.find(reader.oids, commit * reader.oidBytes);
      if (at < 0 || this.#isCovered[at] === 1) continue;
      this.#isCovered[at] = 1;
      setBit(visible, commit);
    }
    return visible;
  }

  /** Indexes in the list of the commits that no shard has, ascending. */
  missing(): Uint32Array {
    const missing = new Uint32Array(this.#list.count);
    let count = 0;
    for (let at = 0; at < this.#list.count; at++) if (this.#isCovered[at] === 0) missing[count++] = at;
    return missing.slice(0, count);
  }
}

/**
 * Finds oids by their bytes. An oid is a hash, so some of its bytes serve as one: to make many commits for which these
 * agree, somebody would have to try billions.
 */
class OidTable {
  readonly #oidBytes: number;
  /** Numbers plus 1; 0 for a free slot. At most half are used. */
  readonly #slots: Int32Array;
  readonly #oids: Buffer;

  /** `oids` are the concatenated oids, which must not change. */
  constructor(oids: Uint8Array, oidBytes: number) {
    this.#oidBytes = oidBytes;
    this.#oids = Buffer.from(oids.buffer, oids.byteOffset, oids.length);
    const count = oids.length / oidBytes;
    this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(2 * count + 2)));
    for (let number = 0; number < count; number++) {
      const slot = this.#slotOf(this.#oids, number * oidBytes);
      if (this.#slots[slot] === 0) this.#slots[slot] = number + 1;
    }
  }

  /** The number of the oid at this offset of `bytes`, or -1. */
  find(bytes: Buffer, offset: number): number {
    return this.#slots[this.#slotOf(bytes, offset)] - 1;
  }

  /** The slot of this oid, or the free one where it belongs. */
  #slotOf(bytes: Buffer, offset: number): number {
    const mask = this.#slots.length - 1;
    for (let slot = bytes.readUInt32LE(offset + 4) & mask; ; slot = (slot + 1) & mask) {
      const number = this.#slots[slot] - 1;
      if (number < 0 || this.#isEqual(number, bytes, offset)) return slot;
    }
  }

  #isEqual(number: number, bytes: Buffer, offset: number): boolean {
    const from = number * this.#oidBytes;
    return bytes.compare(this.#oids, from, from + this.#oidBytes, offset, offset + this.#oidBytes) === 0;
  }
}
