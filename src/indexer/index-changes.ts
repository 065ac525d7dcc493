import type { StoredShard } from "../model/shard-record.js";
import { hasBit } from "../base/bits.js";
import { diffTrees, type TreeChange } from "../git/objects/objects.js";
import type { StopSignal } from "../git/run/run.js";
import type { IndexedBranch } from "../model/repository.js";
import { unpackSkipCode } from "../shard/format.js";
import { ShardReader } from "../shard/shard-reader.js";
import type { ShardSnapshot } from "../store/shard-store.js";
import { skipReasonFromCode, type SkipReason } from "../model/skip-reason.js";
import { isRegular, noCounts, type DocumentCounts, type Entry } from "./index-repository.js";

/** A shard that may contain documents of the repository. */
export interface SourceShard extends StoredShard {
  readonly tombstones: Uint32Array | undefined;
}

/** The effect of a set of changed paths on the index: documents to remove, and documents to add. */
export interface Delta {
  readonly tombstones: Map<number, number[]>;
  readonly entries: Entry[];
  /**
   * What the tombstones subtract from the repository's counters. A content that is shared with other documents is
   * subtracted as well.
   */
  readonly dead: DocumentCounts;
  /** Number of paths that differ, over all branches. */
  readonly changedPathCount: number;
}

/** A live document of a changed path. */
interface OldDocument {
  readonly shardId: number;
  readonly document: number;
  readonly oid: string;
  readonly branchMask: number;
  readonly isFile: boolean;
  readonly skipReason: SkipReason;
  readonly contentBytes: number;
}

/** The change of one path: for each branch bit, the blob that it has after the change. */
interface PathChange {
  readonly path: Buffer;
  readonly after: { readonly bit: number; readonly oid: string | null; readonly isFile: boolean }[];
}

/**
 * Assigns a bit to each wanted branch: an indexed branch keeps its bit, and a new one reuses the bit of a removed
 * branch, preferably of one with the same commit (a renamed branch). Therefore every bit has a commit to compare with,
 * and the work is proportional to the difference. Undefined if a branch is new and no bit is free: then all documents
 * get new masks.
 */
export function assignBranchBits(
  old: readonly IndexedBranch[],
  wanted: ReadonlyMap<string, string>,
): IndexedBranch[] | undefined {
  const free = old.filter((branch) => !wanted.has(branch.name));
  const carried: IndexedBranch[] = [];
  for (const [name, commit] of wanted) {
    const kept = old.find((branch) => branch.name === name);
    if (kept !== undefined) {
      carried.push({ name, commit, bit: kept.bit });
      continue;
    }
    const same = free.findIndex((branch) => branch.commit === commit);
    const [taken] = free.splice(Math.max(0, same), 1);
    if (taken === undefined) return undefined;
    carried.push({ name, commit, bit: taken.bit });
  }
  return carried;
}

/**
 * Computes the delta between the indexed commits and the wanted ones, bit by bit. Bits of removed branches stay in the
 * masks of documents that are also on another branch, where they are ignored; a document on no other branch gets a
 * tombstone.
 */
export async function findDelta(
  mirror: string,
  repositoryId: number,
  old: readonly IndexedBranch[],
  wanted: readonly IndexedBranch[],
  shards: readonly SourceShard[],
  snapshot: ShardSnapshot,
  verify: (reader: ShardReader) => void,
  stop: StopSignal,
): Promise<Delta> {
  const changes = await changedPaths(mirror, old, wanted, stop);
  const living = wanted.reduce((mask, branch) => mask | (1 << branch.bit), 0);
  const losesBranch = old.some((branch) => (living & (1 << branch.bit)) === 0);
  const delta: Delta = { tombstones: new Map(), entries: [], dead: noCounts(), changedPathCount: changes.size };
  const documents = new Map<string, OldDocument[]>();
  // Only one shard is open at a time, because small ones share a buffer.
  for (const shard of shards) {
    const bytes = snapshot.get(shard.id);
    if (bytes === undefined) continue;
    const reader = new ShardReader(shard.id, bytes);
    reader.requireChecksum(shard.checksum);
    verify(reader);
    findDocuments(reader, repositoryId, changes, shard, documents);
    if (losesBranch) buryBranchless(reader, repositoryId, changes, shard, living, delta);
  }
  for (const [key, change] of changes) applyChange(change, documents.get(key) ?? [], living, delta);
  return delta;
}

async function changedPaths(
  mirror: string,
  old: readonly IndexedBranch[],
  wanted: readonly IndexedBranch[],
  stop: StopSignal,
): Promise<Map<string, PathChange>> {
  const changes = new Map<string, PathChange>();
  for (const branch of wanted) {
    const before = old.find((other) => other.bit === branch.bit);
    if (before === undefined || before.commit === branch.commit) continue;
    for (const change of await diffTrees(mirror, before.commit, branch.commit, stop))
      recordChange(changes, branch.bit, change);
  }
  return changes;
}

function recordChange(changes: Map<string, PathChange>, bit: number, change: TreeChange): void {
  const key = change.path.toString("latin1");
  let noted = changes.get(key);
  if (noted === undefined) {
    noted = { path: change.path, after: [] };
    changes.set(key, noted);
  }
  noted.after.push({ bit, oid: change.newOid, isFile: isRegular(change.newMode) });
}

/** Adds the live documents of the changed paths to `found`, by path. */
function findDocuments(
  reader: ShardReader,
  repositoryId: number,
  changes: ReadonlyMap<string, PathChange>,
  shard: SourceShard,
  found: Map<string, OldDocument[]>,
): void {
  for (const [key, change] of changes) {
    for (const document of reader.documentsAt(repositoryId, change.path)) {
      if (isDead(shard.tombstones, document)) continue;
      const old = describeDocument(reader, document);
      const list = found.get(key);
      if (list === undefined) found.set(key, [old]);
      else list.push(old);
    }
  }
}

/**
 * Sets tombstones for documents that are only on removed branches. Documents of changed paths are left to
 * `applyChange`.
 */
function buryBranchless(
  reader: ShardReader,
  repositoryId: number,
  changes: ReadonlyMap<string, PathChange>,
  shard: SourceShard,
  living: number,
  delta: Delta,
): void {
  const repository = reader.repositories.indexOf(repositoryId);
  for (let document = 0; document < reader.documentCount; document++) {
    if (reader.documentRepository[document] !== repository || (reader.documentBranches[document] & living) !== 0)
      continue;
    if (isDead(shard.tombstones, document) || changes.has(reader.path(document).toString("latin1"))) continue;
    addTombstone(describeDocument(reader, document), delta);
  }
}

function describeDocument(reader: ShardReader, document: number): OldDocument {
  const skipReason = skipReasonFromCode(unpackSkipCode(reader.documentInfo[document]));
  const content = reader.contentId(document);
  return {
    shardId: reader.id,
    document,
    oid: reader.oid(document),
    branchMask: reader.documentBranches[document],
    isFile: skipReason !== "not-regular",
    skipReason,
    contentBytes: content < reader.contentCount ? reader.contentStart[content + 1] - reader.contentStart[content] : 0,
  };
}

function isDead(tombstones: Uint32Array | undefined, document: number): boolean {
  return tombstones !== undefined && hasBit(tombstones, document);
}

/** A document whose mask is unchanged is kept; one whose mask changes is removed, and added again with the new mask. */
function applyChange(change: PathChange, documents: readonly OldDocument[], living: number, delta: Delta): void {
  const masks = new Map<string, { mask: number; oid: string; isFile: boolean }>();
  const documentKey = (oid: string, isFile: boolean): string => `${oid}${isFile ? "" : "!"}`;
  for (const { oid, isFile, branchMask } of documents)
    masks.set(documentKey(oid, isFile), { mask: branchMask & living, oid, isFile });
  for (const { bit, oid, isFile } of change.after) {
    for (const state of masks.values()) state.mask &= ~(1 << bit);
    if (oid === null) continue;
    const state = masks.get(documentKey(oid, isFile));
    if (state === undefined) masks.set(documentKey(oid, isFile), { mask: 1 << bit, oid, isFile });
    else state.mask |= 1 << bit;
  }
  for (const document of documents) {
    const key = documentKey(document.oid, document.isFile);
    const state = masks.get(key);
    if (state !== undefined && state.mask !== 0 && state.mask === (document.branchMask & living)) {
      masks.delete(key);
      continue;
    }
    addTombstone(document, delta);
  }
  for (const { mask, oid, isFile } of masks.values())
    if (mask !== 0) delta.entries.push({ path: change.path, oid, isFile, branchMask: mask });
}

function addTombstone(document: OldDocument, { tombstones, dead }: Delta): void {
  const list = tombstones.get(document.shardId);
  if (list === undefined) tombstones.set(document.shardId, [document.document]);
  else list.push(document.document);
  dead.documentCount++;
  dead.contentBytes += document.contentBytes;
  if (document.skipReason !== "none")
    dead.skippedCounts[document.skipReason] = (dead.skippedCounts[document.skipReason] ?? 0) + 1;
}
