import { decodedBytesMax } from "../../indexer/encoding/blob-text.js";
import type { StoredShard } from "../../model/shard-record.js";
import { hasBit, setBit } from "../../base/bits.js";
import { TrawlError } from "../../base/errors.js";
import { Pace } from "../../base/pace.js";
import { type LfsContents, readLfsContents, readPointers } from "../../git/lfs/lfs-contents.js";
import { parsePointer, pointerBytesMax } from "../../git/lfs/pointer.js";
import { contentTrees } from "../../git/objects/composed-tree.js";
import { findFiles } from "../../git/objects/directories.js";
import { ownCommits } from "../../git/history/revisions.js";
import { blobSizes } from "../../git/objects/read-blobs.js";
import { compareAlong, type PathState, type TreeChain } from "../../git/objects/tree-chain.js";
import {
  type CommitRules,
  isRulePath,
  type LfsRule,
  noLfsRule,
  readCommitRules,
  readLfsRule,
  rulePathsAbove,
  type RuledDirectories,
  ruledDirectory,
  ruledMask,
} from "../../indexer/rules/commit-rules.js";
import { noRules, type PathRules, rulesOfDocument } from "../../indexer/rules/path-rules.js";
import { ShardReader } from "../../shard/shard-reader.js";
import type { ShardSnapshot } from "../../store/shard-store.js";
import type { FindDocuments, FoundDocuments, MissingPart } from "../../protocol/read-messages.js";
import { mirrorPath, type ReadContext } from "./context.js";
import { EntryWriter, largestContentBytes, type TextSource } from "./cache-documents.js";
import { unpackSkipCode } from "../../shard/format.js";
import { isFileReason, skipReasonFromCode } from "../../model/skip-reason.js";

/** Limit on path states in one chain, in addition to one comparison: about 200 bytes each. */
const stateCountMax = 400_000;

/** Limit on the paths that differ, together with those for which only the rules do. */
const ruledPathsMax = 500_000;

const documentsPerStopCheck = 4_096;

/**
 * A part ends at this much text, or this many documents: the first parts are small, so that results arrive soon and
 * reading and searching overlap. The size doubles after every second part, because each part requires starting git.
 */
const firstPartTextBytes = 4 << 20;

/** No part exceeds this fraction of the revision cache, because several exist at the same time. */
const arenaBytesPerPart = 16;

/** A text takes up to this many times as many bytes as its blob, if that is in an encoding of single bytes. */
const decodedGrowthMax = 3;

const partDocumentCount = 20_000;

/**
 * Space for a document in a shard in addition to its text, path and oid; and for a shard in addition to all documents.
 */
const documentBytes = 64;

const shardBytes = 16 * 1024;

/** By oid. */
type Sources = Map<string, TextSource>;

/**
 * Determines, for commits that are not indexed, which documents in shards they have.
 *
 * A path that is the same at the base and at all commits, and for which their rules are, has the base's document. Every other path has a sequence of
 * states; a document with that path and the oid of a state belongs to the commits of that state. A state without a
 * document in any shard is missing. Sound: a document of a live shard whose path did not change is the base's if it is
 * alive there and on the base's branch; any other document belongs to other commits. The rules for a path differ only below
 * the directory of a file with rules that differs, unless a commit has so many that none has an effect.
 */
export async function answerFindDocuments(request: FindDocuments, context: ReadContext): Promise<FoundDocuments> {
  const { chain: trees, base, contents } = await buildFilledChain(request, context);
  const { rules, ruled } = await findRules(request, context, trees, base);
  const chain = base === undefined ? trees : addRuled(request, context, trees, base.bit, rules, ruled);
  const pointers = await findPointers(request, context, chain, rules, contents);
  const sets = new CommitSets(chain.commits.length);
  const wanted = await WantedDocuments.find(chain, rules, pointers, sets, context.stop);
  const { live, kept, missing, sources } = findInShards(request, context, wanted, base?.bit ?? -1, sets.all);
  return {
    commits: chain.commits,
    ...sets.encode(),
    live,
    cached: kept,
    parts: await splitParts(missing, sources, request, context),
  };
}

/** The sets of all documents, and the documents that no shard has. */
function findInShards(
  { repositoryId, live, cached: kept }: FindDocuments,
  context: ReadContext,
  wanted: WantedDocuments,
  baseBit: number,
  all: number,
): { live: Uint32Array[]; kept: Uint32Array[]; missing: WantedDocument[]; sources: Sources } {
  const snapshot = context.store().read();
  try {
    const ofLive = live.map((shard) => {
      if (context.stop()) throw new TrawlError("cancelled", "the search was stopped");
      return setsOfLive(openLive(shard, snapshot, context), repositoryId, baseBit, shard.tombstones, wanted, all);
    });
    const ofKept = kept.map(({ id, from, to }) => {
      if (context.stop()) throw new TrawlError("cancelled", "the search was stopped");
      return cachedSets(new ShardReader(id, new Uint8Array(context.arena, from, to - from)), repositoryId, wanted);
    });
    const { missing } = wanted;
    const sources = findSources(
      missing,
      live.map((shard) => () => openLive(shard, snapshot, context)),
    );
    return { live: ofLive, kept: ofKept, missing, sources };
  } finally {
    snapshot.close();
  }
}

/** The reader must be used before the next one is opened, because small shards are copied to the same buffer. */
function openLive(
  { id, checksum }: StoredShard,
  snapshot: ShardSnapshot,
  { readers, store }: ReadContext,
): ShardReader {
  const bytes = snapshot.get(id);
  if (bytes === undefined) throw new TrawlError("corrupt-shard", `shard ${id} is missing from the store`);
  const reader = readers.open(id, bytes, store().guard.faultCount);
  reader.requireChecksum(checksum);
  return reader;
}

/** The chain with the contents of Git LFS in place of their pointers, as in the shards. */
async function buildFilledChain(request: FindDocuments, context: ReadContext) {
  const { repositoryId, lfsTree } = request;
  const { chain, base } = await buildChain(request, context);
  if (lfsTree === undefined) return { chain, base, contents: undefined };
  const contents = await readLfsContents(mirrorPath(context, repositoryId), lfsTree, context.stop);
  const pace = new Pace("the search", context.stop);
  const paths = new Map<string, readonly PathState[]>();
  for (const [path, states] of chain.paths) {
    if (pace.isDue) await pace.rest();
    paths.set(path, isRulePath(bytesOfPath(path)) ? states : states.map((state) => fillState(state, contents)));
  }
  return { chain: { ...chain, paths }, base, contents };
}

function fillState(state: PathState, contents: LfsContents): PathState {
  const oid = state.isFile && state.oid !== null ? contents.find(state.oid) : undefined;
  return oid === undefined ? state : { ...state, oid };
}

/** Without the base if its commit no longer exists in the mirror, after a force-push and a repack. */
async function buildChain(
  { repositoryId, withSubmodules, base, commits }: FindDocuments,
  context: ReadContext,
): Promise<{ chain: TreeChain; base: FindDocuments["base"] }> {
  const mirror = mirrorPath(context, repositoryId);
  // Where no shard has the documents of the base, whoever searches has named it.
  if (base !== undefined && base.bit < 0 && (await ownCommits(mirror, [base.commit], context.stop)).size === 0)
    throw new TrawlError("git", `${base.commit} is no commit of this repository`);
  const trees = withSubmodules ? await contentTrees(mirror, commits, context.stop) : commits;
  if (base !== undefined) {
    const contents = { base: base.contentTree, trees };
    try {
      return { chain: await compareAlong(mirror, base.commit, commits, stateCountMax, context.stop, contents), base };
    } catch (error) {
      if (!(error instanceof TrawlError) || error.code !== "git") throw error;
    }
  }
  const contents = { base: undefined, trees };
  return {
    chain: await compareAlong(mirror, undefined, commits, stateCountMax, context.stop, contents),
    base: undefined,
  };
}

const bytesOfPath = (path: string): Buffer => Buffer.from(path, "latin1");

/** The rules of the commits from this one on. */
interface RulesFrom {
  /** Index of a commit in the chain. */
  readonly from: number;
  readonly rules: CommitRules;
  /** For no file if the repository is without contents of Git LFS. */
  readonly lfs: LfsRule;
}

/** The rules of all commits of the chain, ascending, and the directories for which those of one differ from the base's. */
async function findRules(
  request: FindDocuments,
  context: ReadContext,
  { paths, commits }: TreeChain,
  base: FindDocuments["base"],
): Promise<{ rules: readonly RulesFrom[]; ruled: RuledDirectories }> {
  const mirror = mirrorPath(context, request.repositoryId);
  const files = base === undefined ? new Map<string, string>() : await filesOfBase(request, context, base, paths);
  const changes = [...paths].filter(([path]) => isRulePath(bytesOfPath(path)));
  const ruled = new Map(changes.map(([path]) => [ruledDirectory(path), 1]));
  const starts = new Set([0, ...changes.flatMap(([, states]) => states.map(({ from }) => Math.max(0, from)))]);
  const read = async () => ({
    rules: await readCommitRules(mirror, files, context.stop),
    lfs: request.lfsTree === undefined ? noLfsRule : await readLfsRule(mirror, files, context.stop),
  });
  const all = base === undefined || ruled.size === 0 ? [] : [await read()];
  const found: RulesFrom[] = [];
  for (const from of [...starts].sort((a, b) => a - b)) {
    if (from >= commits.length) continue;
    for (const [path, states] of changes) {
      const { oid, isFile } = states.findLast((state) => state.from <= from) ?? { oid: null, isFile: false };
      if (oid !== null && isFile) files.set(path, oid);
      else files.delete(path);
    }
    found.push({ from, ...(await read()) });
  }
  all.push(...found);
  const areSomeOff = all.some(({ rules, lfs }) => rules.areAttributesOff || lfs.isOff);
  if (ruled.size > 0 && areSomeOff) ruled.set("", 1);
  return { rules: found, ruled };
}

/** The files with rules that the base has; where no shard has its documents, those above the paths that differ. */
async function filesOfBase(
  request: FindDocuments,
  context: ReadContext,
  { bit, commit, contentTree }: NonNullable<FindDocuments["base"]>,
  paths: TreeChain["paths"],
): Promise<Map<string, string>> {
  if (bit < 0) {
    const mirror = mirrorPath(context, request.repositoryId);
    return await findFiles(mirror, contentTree ?? commit, rulePathsAbove(paths.keys()), context.stop);
  }
  const files = new Map<string, string>();
  forEachOfBase(request, context, bit, (reader, document) => {
    const path = reader.path(document);
    if (isRulePath(path) && isFileAt(reader, document)) files.set(path.toString("latin1"), reader.oid(document));
  });
  return files;
}

/**
 * Adds the base's documents for which only the rules of a commit differ, each with the one state that its path has
 * everywhere. All others below these directories have the same rules at all commits as in their shards.
 */
function addRuled(
  request: FindDocuments,
  context: ReadContext,
  chain: TreeChain,
  bit: number,
  rulesFrom: readonly RulesFrom[],
  ruled: RuledDirectories,
): TreeChain {
  if (ruled.size === 0) return chain;
  const paths = new Map(chain.paths);
  const allRules = [...new Set(rulesFrom.map(({ rules }) => rules))];
  const allLfs = [...new Set(rulesFrom.map(({ lfs }) => lfs))];
  forEachOfBase(request, context, bit, (reader, document) => {
    const bytes = reader.path(document);
    const path = bytes.toString("latin1");
    if (ruledMask(ruled, path) === 0 || chain.paths.has(path) || !isFileAt(reader, document)) return;
    const { key } = rulesOfDocument(reader, document);
    const mayBeLeftOut = allLfs.some((lfs) => lfs.holds(path)) && isPointerAt(reader, document);
    if (!mayBeLeftOut && allRules.every((rules) => rules.at(bytes).key === key)) return;
    if (paths.size >= ruledPathsMax) throw tooManyRuled();
    paths.set(path, [{ from: -1, oid: reader.oid(document), isFile: true, isSubmodule: false }]);
  });
  return { ...chain, paths };
}

function tooManyRuled(): TrawlError {
  return new TrawlError(
    "git",
    `the rules of two commits differ for more than ${ruledPathsMax} files, which is too many to search a commit that is not indexed; index its branch to search it`,
  );
}

/** Whether the text of a document is a pointer of Git LFS. */
function isPointerAt(reader: ShardReader, document: number): boolean {
  const content = reader.contentId(document);
  if (content >= reader.contentCount) return false;
  const [from, to] = [reader.contentStart[content], reader.contentStart[content + 1]];
  return to - from <= pointerBytesMax && parsePointer(reader.content.subarray(from, to)) !== undefined;
}

/** The pointers whose contents are not here. */
interface LackingPointers {
  /** Those that the index knows: wherever they are, they have no text. */
  readonly contents: LfsContents | undefined;
  /** Others, of files to which an attribute applies at some commit. */
  readonly unlisted: ReadonlySet<string>;
}

async function findPointers(
  { repositoryId }: FindDocuments,
  context: ReadContext,
  { paths }: TreeChain,
  rulesFrom: readonly RulesFrom[],
  contents: LfsContents | undefined,
): Promise<LackingPointers> {
  if (contents === undefined) return { contents, unlisted: new Set() };
  const oids = new Set<string>();
  const allLfs = [...new Set(rulesFrom.map(({ lfs }) => lfs))];
  const pace = new Pace("the search", context.stop);
  for (const [path, states] of paths) {
    if (pace.isDue) await pace.rest();
    if (!allLfs.some((lfs) => lfs.holds(path))) continue;
    for (const { oid, isFile } of states) if (isFile && oid !== null && !contents.lacks(oid)) oids.add(oid);
  }
  const pointers = await readPointers(mirrorPath(context, repositoryId), [...oids], context.stop);
  return { contents, unlisted: new Set(pointers.keys()) };
}

/** Calls `visit` for each live document of the base. */
function forEachOfBase(
  { repositoryId, live }: FindDocuments,
  context: ReadContext,
  bit: number,
  visit: (reader: ShardReader, document: number) => void,
): void {
  const snapshot = context.store().read();
  try {
    for (const shard of live) {
      const reader = openLive(shard, snapshot, context);
      const repository = reader.repositories.indexOf(repositoryId);
      for (let document = 0; document < reader.documentCount; document++) {
        if (document % documentsPerStopCheck === 0 && context.stop())
          throw new TrawlError("cancelled", "the search was stopped");
        if (reader.documentRepository[document] !== repository) continue;
        if (((reader.documentBranches[document] >>> bit) & 1) === 0) continue;
        if (shard.tombstones === undefined || !hasBit(shard.tombstones, document)) visit(reader, document);
      }
    }
  } finally {
    snapshot.close();
  }
}

function isFileAt(reader: ShardReader, document: number): boolean {
  return isFileReason(skipReasonFromCode(unpackSkipCode(reader.documentInfo[document])));
}

/** Where live shards have the text of missing documents at other paths, by oid. */
function findSources(missing: readonly WantedDocument[], openers: readonly (() => ShardReader)[]): Sources {
  const sources: Sources = new Map();
  if (openers.length === 0) return sources;
  const filter = new OidFilter();
  const wanted = new Set<string>();
  for (const { oid, isFile } of missing) {
    if (!isFile) continue;
    filter.add(startOfOid(oid));
    wanted.add(oid);
  }
  for (const open of wanted.size === 0 ? [] : openers) {
    const reader = open();
    for (let document = 0; document < reader.documentCount; document++) {
      if (!filter.has(oidStart(reader, document))) continue;
      const oid = reader.oid(document);
      const content = reader.contentId(document);
      if (wanted.has(oid) && content < reader.contentCount) sources.set(oid, { shardId: reader.id, content });
    }
  }
  return sources;
}

function setsOfLive(
  reader: ShardReader,
  repositoryId: number,
  baseBit: number,
  tombstones: Uint32Array | undefined,
  wanted: WantedDocuments,
  all: number,
): Uint32Array {
  const sets = sharedWords(reader.documentCount);
  const repository = reader.repositories.indexOf(repositoryId);
  for (let document = 0; document < sets.length; document++) {
    if (reader.documentRepository[document] !== repository) continue;
    const isDead = tombstones !== undefined && hasBit(tombstones, document);
    const isOfBase = !isDead && baseBit >= 0 && ((reader.documentBranches[document] >>> baseBit) & 1) === 1;
    sets[document] = wanted.findSet(reader, document) ?? (isOfBase ? all : 0);
  }
  return sets;
}

function cachedSets(reader: ShardReader, repositoryId: number, wanted: WantedDocuments): Uint32Array {
  const sets = sharedWords(reader.documentCount);
  const repository = reader.repositories.indexOf(repositoryId);
  for (let document = 0; document < sets.length; document++) {
    if (reader.documentRepository[document] === repository) sets[document] = wanted.findSet(reader, document) ?? 0;
  }
  return sets;
}

function sharedWords(count: number): Uint32Array {
  return new Uint32Array(new SharedArrayBuffer(count * 4));
}

/** Documents that have the same blob. */
interface DocumentsOfBlob {
  readonly documents: WantedDocument[];
  /** -1 if the mirror lacks it, or it is not a blob. */
  blobBytes: number;
}

/** Divides documents into parts. Those of the same blob are adjacent, so that it is read once per part. */
async function splitParts(
  missing: readonly WantedDocument[],
  sources: Sources,
  { repositoryId, withSubmodules, limits }: FindDocuments,
  context: ReadContext,
): Promise<MissingPart[]> {
  const blobs = groupByBlob(missing);
  const files = blobs.filter(({ documents }) =>
    documents.some(({ isFile, isLeftOut, rules }) => isFile && !isLeftOut && !rules.isIgnored),
  );
  const oids = files.map(({ documents: [{ oid }] }) => oid);
  const mirror = mirrorPath(context, repositoryId);
  const sizes = await blobSizes(mirror, oids, context.stop);
  files.forEach((blob, i) => (blob.blobBytes = sizes[i]));
  const contentBytesMax = largestContentBytes(limits, context.arena);
  const parts: MissingPart[] = [];
  let entries: EntryWriter | undefined;
  let textBytes = 0;
  let otherBytes = shardBytes;
  let growthBytes = 0;
  const close = (): void => {
    if (entries === undefined) return;
    parts.push({
      entries: entries.bytes(),
      documentCount: entries.count,
      textBytes,
      shardBytesMax: textBytes + growthBytes + Math.ceil((textBytes + growthBytes) / 128) + otherBytes,
    });
    entries = undefined;
    textBytes = 0;
    growthBytes = 0;
    otherBytes = shardBytes;
  };
  for (const { documents, blobBytes } of blobs) {
    const bytes = blobBytes > 0 && blobBytes <= contentBytesMax ? blobBytes : 0;
    const partTextBytes = Math.min(
      firstPartTextBytes * 2 ** (parts.length >> 1),
      context.arena.byteLength / arenaBytesPerPart,
    );
    if (textBytes + bytes > partTextBytes || (entries?.count ?? 0) >= partDocumentCount) close();
    entries ??= new EntryWriter();
    for (const document of documents) {
      const isSubmodule = document.isSubmodule && withSubmodules;
      entries.add({ ...document, isSubmodule }, sources.get(document.oid), blobBytes);
      otherBytes += document.path.length + document.oid.length / 2 + documentBytes;
    }
    textBytes += bytes;
    if (bytes <= decodedBytesMax) growthBytes += (decodedGrowthMax - 1) * bytes;
  }
  close();
  return parts;
}

function groupByBlob(documents: readonly WantedDocument[]): DocumentsOfBlob[] {
  const ofOid = new Map<string, DocumentsOfBlob>();
  for (const document of documents) {
    const known = ofOid.get(document.oid);
    if (known === undefined) ofOid.set(document.oid, { documents: [document], blobBytes: -1 });
    else known.documents.push(document);
  }
  return [...ofOid.values()];
}

/** An oid at a path that differs somewhere: at the base, at some commits, or at both. */
interface WantedDocument {
  readonly path: string;
  readonly oid: string;
  readonly isFile: boolean;
  readonly isSubmodule: boolean;
  /** Whether it is a pointer of Git LFS whose contents are not here. */
  readonly isLeftOut: boolean;
  /** Those of the commits in `ranges`. */
  readonly rules: PathRules;
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
class OidFilter {
  readonly #words = new Uint32Array(2 ** (filterBits - 5));

  add(start: number): void {
    setBit(this.#words, start >>> (32 - filterBits));
  }

  has(start: number): boolean {
    return hasBit(this.#words, start >>> (32 - filterBits));
  }
}

/** The first 32 bits of a document's oid. */
function oidStart({ documentOids, oidBytes }: ShardReader, document: number): number {
  const at = document * oidBytes;
  return (
    ((documentOids[at] << 24) | (documentOids[at + 1] << 16) | (documentOids[at + 2] << 8) | documentOids[at + 3]) >>> 0
  );
}

function startOfOid(oid: string): number {
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
class WantedDocuments {
  readonly #filter = new OidFilter();
  readonly #ofKey = new Map<number, WantedDocument>();
  readonly #all: WantedDocument[] = [];

  /** Throws `cancelled`. */
  static async find(
    { paths, commits }: TreeChain,
    rules: readonly RulesFrom[],
    pointers: LackingPointers,
    sets: CommitSets,
    stop: ReadContext["stop"],
  ): Promise<WantedDocuments> {
    const found = new WantedDocuments();
    const pace = new Pace("the search", stop);
    for (const [path, states] of paths) {
      if (pace.isDue) await pace.rest();
      found.#addPath(path, states, rules, pointers, commits.length);
    }
    for (const wanted of found.#all) wanted.set = sets.add(wanted.ranges);
    return found;
  }

  #addPath(
    path: string,
    states: readonly PathState[],
    rules: readonly RulesFrom[],
    { contents, unlisted }: LackingPointers,
    commitCount: number,
  ): void {
    const bytes = bytesOfPath(path);
    const hash = hashPath(bytes, 0, bytes.length);
    for (let i = 0; i < states.length; i++) {
      const state = states[i];
      const { from, oid } = state;
      if (oid === null) continue;
      const to = i + 1 < states.length ? states[i + 1].from : commitCount;
      const first = Math.max(0, from);
      // One range, unless the rules change within.
      for (let j = 0; j < rules.length; j++) {
        const ruledFrom = Math.max(first, rules[j].from);
        const ruledTo = Math.min(to, rules.at(j + 1)?.from ?? commitCount);
        // What only the base has is wanted by no commit.
        if (ruledTo <= ruledFrom && (j > 0 || to > first)) continue;
        const own = state.isFile ? rules[j].rules.at(bytes) : noRules;
        const isLacking = contents?.lacks(oid) === true || (unlisted.has(oid) && rules[j].lfs.holds(path));
        const isLeftOut = isLacking && state.isFile && !own.isIgnored;
        const { ranges } = this.#wantedAt(path, hash, oid, state, isLeftOut, own);
        if (ruledTo > ruledFrom) addRange(ranges, ruledFrom, ruledTo);
      }
    }
  }

  /** The same state may occur again. */
  #wantedAt(
    path: string,
    hash: number,
    oid: string,
    { isFile, isSubmodule }: PathState,
    isLeftOut: boolean,
    rules: PathRules,
  ): WantedDocument {
    const start = startOfOid(oid);
    const key = start ^ hash;
    const next = this.#ofKey.get(key);
    for (let known = next; known !== undefined; known = known.next)
      if (
        known.path === path &&
        known.oid === oid &&
        known.isFile === isFile &&
        known.isLeftOut === isLeftOut &&
        known.rules.key === rules.key
      )
        return known;
    this.#filter.add(start);
    const wanted = { path, oid, isFile, isSubmodule, isLeftOut, rules, ranges: [], set: 0, isFound: false, next };
    this.#ofKey.set(key, wanted);
    this.#all.push(wanted);
    return wanted;
  }

  /**
   * The set of a document; undefined if its path has its oid nowhere, or everywhere. One with other rules than the base and
   * the commits have for it is theirs nowhere, and so is a pointer that is text where theirs is none.
   */
  findSet(reader: ShardReader, document: number): number | undefined {
    const start = oidStart(reader, document);
    if (!this.#filter.has(start)) return undefined;
    let wanted = this.#ofKey.get(
      start ^ hashPath(reader.paths, reader.pathStart[document], reader.pathStart[document + 1] - 1),
    );
    if (wanted === undefined) return undefined;
    const path = reader.path(document).toString("latin1");
    const oid = reader.oid(document);
    const skipReason = skipReasonFromCode(unpackSkipCode(reader.documentInfo[document]));
    const isFile = isFileReason(skipReason);
    const { key } = rulesOfDocument(reader, document);
    let hasOtherRules = false;
    for (; wanted !== undefined; wanted = wanted.next) {
      if (wanted.path !== path || wanted.isFile !== isFile || !oid.startsWith(wanted.oid)) continue;
      if (wanted.rules.key === key && wanted.isLeftOut === (skipReason === "lfs")) break;
      hasOtherRules = true;
    }
    if (wanted === undefined) return hasOtherRules ? 0 : undefined;
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

/** The ranges are ascending; one that follows the last immediately extends it. */
function addRange(ranges: number[], from: number, to: number): void {
  if (ranges.at(-1) === from) ranges[ranges.length - 1] = to;
  else ranges.push(from, to);
}

/** Sets of commits of one chain, numbered from 1; 0 is the empty set, and set 1 contains all commits. */
class CommitSets {
  readonly #numberOf = new Map<string, number>();
  readonly #starts: number[] = [0, 0];
  readonly #ranges: number[] = [];
  readonly all: number;

  constructor(commitCount: number) {
    this.all = this.add([0, commitCount]);
  }

  /** `ranges`: pairs (from, to), ascending and disjoint. Equal sets get the same number. */
  add(ranges: readonly number[]): number {
    if (ranges.length === 0) return 0;
    const key = ranges.join();
    const known = this.#numberOf.get(key);
    if (known !== undefined) return known;
    const number = this.#starts.length - 1;
    this.#numberOf.set(key, number);
    this.#ranges.push(...ranges);
    this.#starts.push(this.#ranges.length / 2);
    return number;
  }

  /** In the form used by `FoundDocuments`. */
  encode(): { setStarts: Uint32Array; setRanges: Uint32Array } {
    return { setStarts: Uint32Array.from(this.#starts), setRanges: Uint32Array.from(this.#ranges) };
  }
}
