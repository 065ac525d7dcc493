import { hasBit, setBit } from "../../base/bits.js";
import type { PathState, TreeChain } from "../../git/objects/tree-chain.js";
import { unpackSkipCode } from "../../shard/format.js";
import type { ShardReader } from "../../shard/shard-reader.js";
import { skipReasons } from "../../model/skip-reason.js";
import type { CommitSets } from "./commit-sets.js";

/** An oid at a path that differs somewhere: at the base, at some commits, or at both. */
export interface WantedDocument {
  readonly path: string;
  readonly oid: string;
  readonly isFile: boolean;
  /** The commits that have it there, as pairs (from, to). */
  readonly ranges: number[];
  set: number;
  isFound: boolean;
  /** Another document with the same key. */
  readonly next: WantedDocument | undefined;
}

/** Number of oid bits used to rule out most unwanted documents quickly. */
const filterBits = 22;

/** Prefixes of oids, one bit each. */
export class OidFilter {
  readonly #words = new Uint32Array(2 ** (filterBits - 5));

  add(start: number): void {
    setBit(this.#words, start >>> (32 - filterBits));
  }

  has(start: number): boolean {
    return hasBit(this.#words, start >>> (32 - filterBits));
  }
}

/** The first 32 bits of a document's oid. */
export function oidStart({ documentOids, oidBytes }: ShardReader, document: number): number {
  const at = document * oidBytes;
  return (
    ((documentOids[at] << 24) | (documentOids[at + 1] << 16) | (documentOids[at + 2] << 8) | documentOids[at + 3]) >>> 0
  );
}

export function startOfOid(oid: string): number {
  return Number.parseInt(oid.slice(0, 8), 16);
}

/** A hash of the bytes of a path. */
function hashPath(bytes: Uint8Array, from: number, to: number): number {
  let hash = 0;
  for (let i = from; i < to; i++) hash = Math.imul(hash ^ bytes[i], 16_777_619);
  return hash;
}

/**
 * The documents that the base and the commits have at paths that differ somewhere.
 *
 * Documents are looked up by a number derived from oid and path, so that no string is created for documents that are
 * not in here: that took most of the time.
 */
export class WantedDocuments {
  readonly #filter = new OidFilter();
  readonly #ofKey = new Map<number, WantedDocument>();
  readonly #all: WantedDocument[] = [];

  constructor({ paths, commits }: TreeChain, sets: CommitSets) {
    for (const [path, states] of paths) this.#addPath(path, states, commits.length);
    for (const wanted of this.#all) wanted.set = sets.add(wanted.ranges);
  }

  #addPath(path: string, states: readonly PathState[], commitCount: number): void {
    const bytes = Buffer.from(path, "latin1");
    const hash = hashPath(bytes, 0, bytes.length);
    for (let i = 0; i < states.length; i++) {
      const { from, oid, isFile } = states[i];
      if (oid === null) continue;
      const { ranges } = this.#wantedAt(path, hash, oid, isFile);
      const to = i + 1 < states.length ? states[i + 1].from : commitCount;
      if (to > Math.max(0, from)) ranges.push(Math.max(0, from), to);
    }
  }

  /** The same state may occur again. */
  #wantedAt(path: string, hash: number, oid: string, isFile: boolean): WantedDocument {
    const start = startOfOid(oid);
    const key = start ^ hash;
    const next = this.#ofKey.get(key);
    for (let known = next; known !== undefined; known = known.next)
      if (known.path === path && known.oid === oid && known.isFile === isFile) return known;
    this.#filter.add(start);
    const wanted = { path, oid, isFile, ranges: [], set: 0, isFound: false, next };
    this.#ofKey.set(key, wanted);
    this.#all.push(wanted);
    return wanted;
  }

  /** The set of a document; undefined if its path has its oid nowhere, or everywhere. */
  findSet(reader: ShardReader, document: number): number | undefined {
    const start = oidStart(reader, document);
    if (!this.#filter.has(start)) return undefined;
    let wanted = this.#ofKey.get(
      start ^ hashPath(reader.paths, reader.pathStart[document], reader.pathStart[document + 1] - 1),
    );
    if (wanted === undefined) return undefined;
    const path = reader.path(document).toString("latin1");
    const oid = reader.oid(document);
    const isFile = unpackSkipCode(reader.documentInfo[document]) !== skipReasons["not-regular"].code;
    while (wanted !== undefined && (wanted.path !== path || wanted.isFile !== isFile || !oid.startsWith(wanted.oid)))
      wanted = wanted.next;
    if (wanted === undefined) return undefined;
    // A second document of the same state would be a duplicate result.
    if (wanted.isFound) return 0;
    wanted.isFound = true;
    return wanted.set;
  }

  /** Those that commits have but no shard. */
  get missing(): WantedDocument[] {
    return this.#all.filter(({ set, isFound }) => set !== 0 && !isFound);
  }
}
