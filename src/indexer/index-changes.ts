import type { LfsContents } from "../git/lfs/lfs-contents.js";
import { pointerBytesMax } from "../git/lfs/pointer.js";
import type { StoredShard } from "../model/shard-record.js";
import { assert } from "../base/assert.js";
import { hasBit } from "../base/bits.js";
import { Pace } from "../base/pace.js";
import { diffTrees, fileMode, isRegular, type TreeChange } from "../git/objects/objects.js";
import type { StopSignal } from "../git/run/run.js";
import { type IndexedBranch, indexedTree } from "../model/repository.js";
import { unpackSkipCode } from "../shard/format.js";
import { ShardReader } from "../shard/shard-reader.js";
import type { ShardSnapshot } from "../store/shard-store.js";
import { isFileReason, skipReasonFromCode, type SkipReason } from "../model/skip-reason.js";
import { describeProblems, noCounts, type DocumentCounts, type Entry } from "./index-repository.js";
import {
  type CommitRules,
  isRulePath,
  type LfsRule,
  noLfsRule,
  readCommitRules,
  readLfsRule,
  type RuledDirectories,
  ruledDirectory,
  ruledMask,
} from "./rules/commit-rules.js";
import { noRules, type PathRules, rulesOfDocument } from "./rules/path-rules.js";

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
  /** Number of paths that differ, or whose rules do, over all branches. */
  readonly changedPathCount: number;
  /** What is wrong with the rules of the commits. */
  readonly problems: readonly string[];
}

/** A live document of a path that changed, or whose rules may have. */
interface OldDocument {
  readonly shardId: number;
  readonly document: number;
  readonly path: Buffer;
  readonly oid: string;
  readonly branchMask: number;
  readonly isFile: boolean;
  /** Whether it is a pointer of Git LFS whose contents were not there. */
  readonly isLeftOut: boolean;
  readonly isSubmodule: boolean;
  readonly rules: PathRules;
  readonly skipReason: SkipReason;
  readonly contentBytes: number;
}

/** The contents of Git LFS with which a repository is to be indexed, and whether others were before. */
export interface DeltaContents {
  readonly current: LfsContents | undefined;
  readonly areNew: boolean;
}

const noContents: DeltaContents = { current: undefined, areNew: false };

/** The change of one path: for each branch bit, the blob that it has after the change. */
interface PathChange {
  readonly path: Buffer;
  readonly after: {
    readonly bit: number;
    readonly oid: string | null;
    readonly isFile: boolean;
    readonly isSubmodule: boolean;
  }[];
}

/** The oid of the tree that is searchable, by commit, if the contents of submodules are. */
export type ContentTreeMap = ReadonlyMap<string, string>;

/**
 * Assigns a bit to each wanted branch: an indexed branch keeps its bit, and a new one reuses the bit of a removed
 * branch, preferably of one with the same commit (a renamed branch). Therefore every bit has a commit to compare with,
 * and the work is proportional to the difference. Undefined if a branch is new and no bit is free: then all documents
 * get new masks.
 */
export function assignBranchBits(
  old: readonly IndexedBranch[],
  wanted: ReadonlyMap<string, string>,
  trees: ContentTreeMap = new Map(),
): IndexedBranch[] | undefined {
  const free = old.filter((branch) => !wanted.has(branch.name));
  const carried: IndexedBranch[] = [];
  for (const [name, commit] of wanted) {
    const kept = old.find((branch) => branch.name === name);
    if (kept !== undefined) {
      carried.push({ name, commit, bit: kept.bit, contentTree: trees.get(commit) });
      continue;
    }
    const same = free.findIndex((branch) => branch.commit === commit);
    const [taken] = free.splice(Math.max(0, same), 1);
    if (taken === undefined) return undefined;
    carried.push({ name, commit, bit: taken.bit, contentTree: trees.get(commit) });
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
  contents: DeltaContents = noContents,
): Promise<Delta> {
  const changes = await changedPaths(mirror, old, wanted, contents.current, stop);
  const living = wanted.reduce((mask, branch) => mask | (1 << branch.bit), 0);
  const losesBranch = old.some((branch) => (living & (1 << branch.bit)) === 0);
  const documents = new Map<string, OldDocument[]>();
  const ruleFiles: RuleFile[] = [];
  const branchless: OldDocument[] = [];
  forEachShard(shards, snapshot, (reader, shard) => {
    verify(reader);
    findDocuments(reader, repositoryId, changes, shard, documents);
    findRuleFiles(reader, repositoryId, shard, ruleFiles);
    if (losesBranch) findBranchless(reader, repositoryId, changes, shard, living, branchless);
  });
  const pace = new Pace("the comparison of commits", stop);
  const { current } = contents;
  if (current !== undefined && contents.areNew) {
    const refilled = new Map<string, OldDocument[]>();
    forEachShard(shards, snapshot, (reader, shard) => findRefilled(reader, repositoryId, current, shard, refilled));
    const added = await addRefilled(changes, refilled, current, living, pace);
    forEachShard(shards, snapshot, (reader, shard) => findDocuments(reader, repositoryId, added, shard, documents));
  }
  const rules = await rulesOfBranches(mirror, wanted, ruleFiles, changes, current?.isWhole === false, stop);
  const ruled = await changedRules(mirror, changes, ruleFiles, rules, stop);
  if (ruled.size > 0)
    forEachShard(shards, snapshot, (reader, shard) =>
      findRuled(reader, repositoryId, changes, ruled, shard, documents),
    );
  await addRuled(changes, ruled, documents, rules, current, pace);
  const delta: Delta = {
    tombstones: new Map(),
    entries: [],
    dead: noCounts(),
    changedPathCount: changes.size,
    problems: wanted.flatMap(({ name, bit }) => describeProblems(name, rulesAt(rules, bit).rules)),
  };
  for (const document of branchless) if (!changes.has(document.path.toString("latin1"))) addTombstone(document, delta);
  for (const [key, change] of changes) {
    if (pace.isDue) await pace.rest();
    applyChange(change, documents.get(key) ?? [], living, rules, contents.current, delta);
  }
  return delta;
}

/** Adds the live documents of pointers that were indexed without the contents that they have, or with others, to `found`, by path. */
function findRefilled(
  reader: ShardReader,
  repositoryId: number,
  contents: LfsContents,
  { tombstones }: SourceShard,
  found: Map<string, OldDocument[]>,
): void {
  for (const document of liveDocuments(reader, repositoryId, tombstones)) {
    const old = describeDocument(reader, document);
    const { oid, isFile, isLeftOut, rules } = old;
    const isRefilled = contents.find(oid) !== undefined || (!rules.isIgnored && contents.lacks(oid) !== isLeftOut);
    if (isFile && isRefilled) addTo(found, old.path.toString("latin1"), old);
  }
}

/** Adds them to the changes on the branches where the path has not changed. Returns the changes of other paths than before. */
async function addRefilled(
  changes: Map<string, PathChange>,
  refilled: ReadonlyMap<string, readonly OldDocument[]>,
  contents: LfsContents,
  living: number,
  pace: Pace,
): Promise<ReadonlyMap<string, PathChange>> {
  const added = new Map<string, PathChange>();
  for (const [path, documents] of refilled) {
    if (pace.isDue) await pace.rest();
    const change = changes.get(path) ?? { path: documents[0].path, after: [] };
    const changed = change.after.reduce((mask, { bit }) => mask | (1 << bit), 0);
    for (const { oid, branchMask } of documents)
      for (let mask = branchMask & living & ~changed, bit = 0; mask !== 0; mask >>>= 1, bit++)
        if ((mask & 1) === 1)
          change.after.push({ bit, oid: contents.find(oid) ?? oid, isFile: true, isSubmodule: false });
    if (!changes.has(path)) added.set(path, change);
    changes.set(path, change);
  }
  return added;
}

/** Only one shard is open at a time, because small ones share a buffer. */
function forEachShard(
  shards: readonly SourceShard[],
  snapshot: ShardSnapshot,
  visit: (reader: ShardReader, shard: SourceShard) => void,
): void {
  for (const shard of shards) {
    const bytes = snapshot.get(shard.id);
    if (bytes === undefined) continue;
    const reader = new ShardReader(shard.id, bytes);
    reader.requireChecksum(shard.checksum);
    visit(reader, shard);
  }
}

/** A file with rules on some branches, before the changes. */
interface RuleFile {
  readonly path: string;
  readonly oid: string;
  readonly branchMask: number;
  /** Whether the mirror did not have it, so that the documents do not have its rules. */
  readonly wasMissing: boolean;
}

/**
 * A changed file is about its directory. All files are ruled where a file was missing that may have come, and where the
 * attributes of a commit are or were off as a whole.
 */
async function changedRules(
  mirror: string,
  changes: ReadonlyMap<string, PathChange>,
  before: readonly RuleFile[],
  rules: RulesByBit,
  stop: StopSignal,
): Promise<RuledDirectories> {
  const ruled = new Map<string, number>();
  const add = (directory: string, mask: number): void => {
    ruled.set(directory, (ruled.get(directory) ?? 0) | mask);
  };
  for (const [path, change] of changes) {
    if (!isRulePath(change.path)) continue;
    for (const { bit } of change.after) add(ruledDirectory(path), 1 << bit);
  }
  const changed = [...ruled.values()].reduce((mask, own) => mask | own, 0);
  for (const { branchMask, wasMissing } of before) if (wasMissing) add("", branchMask);
  for (const [bit, after] of rules) {
    if (((changed >>> bit) & 1) === 0) continue;
    const files = filesBefore(before, bit);
    const isOff =
      after.rules.areAttributesOff ||
      after.lfs.isOff ||
      (await readCommitRules(mirror, files, stop)).areAttributesOff ||
      (after.lfs !== noLfsRule && (await readLfsRule(mirror, files, stop)).isOff);
    if (isOff) add("", 1 << bit);
  }
  return ruled;
}

function filesBefore(before: readonly RuleFile[], bit: number): Map<string, string> {
  return new Map(
    before.flatMap(({ path, oid, branchMask }) => (((branchMask >>> bit) & 1) === 1 ? [[path, oid]] : [])),
  );
}

function findRuleFiles(
  reader: ShardReader,
  repositoryId: number,
  { tombstones }: SourceShard,
  found: RuleFile[],
): void {
  for (const document of liveDocuments(reader, repositoryId, tombstones)) {
    const path = reader.path(document);
    if (!isRulePath(path)) continue;
    const skipReason = skipReasonFromCode(unpackSkipCode(reader.documentInfo[document]));
    if (!isFileReason(skipReason)) continue;
    const [oid, branchMask] = [reader.oid(document), reader.documentBranches[document]];
    found.push({ path: path.toString("latin1"), oid, branchMask, wasMissing: skipReason === "missing" });
  }
}

/** Adds the live documents of files whose rules may have changed to `found`, by path. */
function findRuled(
  reader: ShardReader,
  repositoryId: number,
  changes: ReadonlyMap<string, PathChange>,
  ruled: RuledDirectories,
  { tombstones }: SourceShard,
  found: Map<string, OldDocument[]>,
): void {
  for (const document of liveDocuments(reader, repositoryId, tombstones)) {
    const path = reader.path(document).toString("latin1");
    if (changes.has(path) || ruledMask(ruled, path) === 0) continue;
    addTo(found, path, describeDocument(reader, document));
  }
}

/** The rules of a commit. */
interface BranchRules {
  readonly rules: CommitRules;
  /** `noLfsRule` if the list of contents has all pointers. */
  readonly lfs: LfsRule;
}

type RulesByBit = ReadonlyMap<number, BranchRules>;

/** The rules of the wanted commits, by bit: files that did not change are in the shards. */
async function rulesOfBranches(
  mirror: string,
  wanted: readonly IndexedBranch[],
  before: readonly RuleFile[],
  changes: ReadonlyMap<string, PathChange>,
  withLfs: boolean,
  stop: StopSignal,
): Promise<RulesByBit> {
  const rules = new Map<number, BranchRules>();
  const changed = [...changes].filter(([, { path }]) => isRulePath(path));
  for (const { bit } of wanted) {
    const files = filesBefore(before, bit);
    for (const [path, { after }] of changed) {
      const own = after.find((state) => state.bit === bit);
      if (own === undefined) continue;
      if (own.oid !== null && own.isFile) files.set(path, own.oid);
      else files.delete(path);
    }
    const lfs = withLfs ? await readLfsRule(mirror, files, stop) : noLfsRule;
    rules.set(bit, { rules: await readCommitRules(mirror, files, stop), lfs });
  }
  return rules;
}

/** Adds the branches to the changes on which only the rules for a path have changed. */
async function addRuled(
  changes: Map<string, PathChange>,
  ruled: RuledDirectories,
  documents: ReadonlyMap<string, readonly OldDocument[]>,
  rules: RulesByBit,
  contents: LfsContents | undefined,
  pace: Pace,
): Promise<void> {
  if (ruled.size === 0) return;
  for (const [path, old] of documents) {
    if (pace.isDue) await pace.rest();
    const known = changes.get(path);
    const mask = (known?.after ?? []).reduce((bits, { bit }) => bits & ~(1 << bit), ruledMask(ruled, path));
    const after: PathChange["after"] = [];
    for (const document of old)
      for (const [bit, branch] of rules)
        if (
          document.isFile &&
          ((document.branchMask & mask) >>> bit) & 1 &&
          isRuledAnew(document, path, branch, contents)
        )
          after.push({ bit, oid: document.oid, isFile: true, isSubmodule: false });
    if (known !== undefined) known.after.push(...after);
    else if (after.length > 0) changes.set(path, { path: old[0].path, after });
  }
}

/** Whether the rules of a branch differ from those with which a file was indexed; also if only its text can tell that. */
function isRuledAnew(
  { oid, path: bytes, rules: before, isLeftOut, contentBytes }: OldDocument,
  path: string,
  { rules, lfs }: BranchRules,
  contents: LfsContents | undefined,
): boolean {
  if (rules.at(bytes).key !== before.key) return true;
  if (lfs === noLfsRule) return false;
  return isLeftOut
    ? contents?.lacks(oid) !== true && !lfs.holds(path)
    : contentBytes > 0 && contentBytes <= pointerBytesMax && lfs.holds(path);
}

function rulesAt(rules: RulesByBit, bit: number): BranchRules {
  const found = rules.get(bit);
  assert(found !== undefined, "the rules of each wanted branch are known");
  return found;
}

async function changedPaths(
  mirror: string,
  old: readonly IndexedBranch[],
  wanted: readonly IndexedBranch[],
  contents: LfsContents | undefined,
  stop: StopSignal,
): Promise<Map<string, PathChange>> {
  const changes = new Map<string, PathChange>();
  for (const branch of wanted) {
    const before = old.find((other) => other.bit === branch.bit);
    if (before === undefined || indexedTree(before) === indexedTree(branch)) continue;
    for (const change of await diffTrees(mirror, indexedTree(before), indexedTree(branch), stop))
      recordChange(changes, branch.bit, change, contents);
  }
  return changes;
}

function recordChange(
  changes: Map<string, PathChange>,
  bit: number,
  change: TreeChange,
  contents: LfsContents | undefined,
): void {
  const key = change.path.toString("latin1");
  let noted = changes.get(key);
  if (noted === undefined) {
    noted = { path: change.path, after: [] };
    changes.set(key, noted);
  }
  const { newMode } = change;
  const isFile = isRegular(newMode);
  const oid = (isFile && change.newOid !== null ? contents?.find(change.newOid) : undefined) ?? change.newOid;
  noted.after.push({ bit, oid, isFile, isSubmodule: newMode === fileMode.gitlink });
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
      addTo(found, key, describeDocument(reader, document));
    }
  }
}

function addTo(found: Map<string, OldDocument[]>, path: string, document: OldDocument): void {
  const list = found.get(path);
  if (list === undefined) found.set(path, [document]);
  else list.push(document);
}

/** The documents that are only on removed branches, for tombstones. Those of changed paths are left to `applyChange`. */
function findBranchless(
  reader: ShardReader,
  repositoryId: number,
  changes: ReadonlyMap<string, PathChange>,
  shard: SourceShard,
  living: number,
  found: OldDocument[],
): void {
  for (const document of liveDocuments(reader, repositoryId, shard.tombstones)) {
    if ((reader.documentBranches[document] & living) !== 0) continue;
    if (!changes.has(reader.path(document).toString("latin1"))) found.push(describeDocument(reader, document));
  }
}

/** The documents of a repository that are not deleted. */
function* liveDocuments(
  reader: ShardReader,
  repositoryId: number,
  tombstones: Uint32Array | undefined,
): Generator<number> {
  const repository = reader.repositories.indexOf(repositoryId);
  for (let document = 0; document < reader.documentCount; document++)
    if (reader.documentRepository[document] === repository && !isDead(tombstones, document)) yield document;
}

function describeDocument(reader: ShardReader, document: number): OldDocument {
  const skipReason = skipReasonFromCode(unpackSkipCode(reader.documentInfo[document]));
  const content = reader.contentId(document);
  return {
    shardId: reader.id,
    document,
    path: Buffer.from(reader.path(document)),
    oid: reader.oid(document),
    branchMask: reader.documentBranches[document],
    isFile: isFileReason(skipReason),
    isLeftOut: skipReason === "lfs",
    isSubmodule: skipReason === "submodule",
    rules: rulesOfDocument(reader, document),
    skipReason,
    contentBytes: content < reader.contentCount ? reader.contentStart[content + 1] - reader.contentStart[content] : 0,
  };
}

function isDead(tombstones: Uint32Array | undefined, document: number): boolean {
  return tombstones !== undefined && hasBit(tombstones, document);
}

/** A document whose mask is unchanged is kept; one whose mask changes is removed, and added again with the new mask. */
function applyChange(
  change: PathChange,
  documents: readonly OldDocument[],
  living: number,
  rulesByBit: RulesByBit,
  contents: LfsContents | undefined,
  delta: Delta,
): void {
  const masks = new Map<string, Omit<Entry, "path" | "branchMask"> & { mask: number }>();
  const documentKey = (oid: string, isFile: boolean, rules: PathRules, isLeftOut: boolean): string =>
    `${oid}${isFile ? "" : "!"}${isLeftOut ? "?" : ""} ${rules.key}`;
  for (const { oid, isFile, isSubmodule, rules, isLeftOut, branchMask } of documents)
    masks.set(documentKey(oid, isFile, rules, isLeftOut), {
      mask: branchMask & living,
      oid,
      isFile,
      isSubmodule,
      rules,
      mayBePointer: false,
    });
  for (const { bit, oid, isFile, isSubmodule } of change.after) {
    for (const state of masks.values()) state.mask &= ~(1 << bit);
    if (oid === null) continue;
    const branch = rulesAt(rulesByBit, bit);
    const rules = isFile ? branch.rules.at(change.path) : noRules;
    const isLeftOut = isFile && !rules.isIgnored && contents?.lacks(oid) === true;
    // Only its text tells whether it is one, so it is added again.
    const mayBePointer = isFile && !isLeftOut && branch.lfs.holds(change.path.toString("latin1"));
    const key = documentKey(oid, isFile, rules, isLeftOut) + (mayBePointer ? " lfs" : "");
    const state = masks.get(key);
    if (state === undefined) masks.set(key, { mask: 1 << bit, oid, isFile, isSubmodule, rules, mayBePointer });
    else state.mask |= 1 << bit;
  }
  for (const document of documents) {
    const key = documentKey(document.oid, document.isFile, document.rules, document.isLeftOut);
    const state = masks.get(key);
    if (state !== undefined && state.mask !== 0 && state.mask === (document.branchMask & living)) {
      masks.delete(key);
      continue;
    }
    addTombstone(document, delta);
  }
  for (const { mask, ...state } of masks.values())
    if (mask !== 0) delta.entries.push({ path: change.path, ...state, branchMask: mask });
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
