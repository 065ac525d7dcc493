import { setBit } from "../base/bits.js";
import type { CommitList } from "../git/history/commit-list.js";
import type { HistoryReader } from "./history-reader.js";
import { OidTable } from "./oid-table.js";

/**
 * Which history shards have the commits of a list. A commit that several shards have belongs to the first of them, so
 * that it is one result.
 */
export class CommitCover {
  readonly #list: CommitList;
  readonly #table: OidTable;
  readonly #isCovered: Uint8Array;

  constructor(list: CommitList) {
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
