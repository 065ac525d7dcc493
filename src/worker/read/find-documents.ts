import { hasBit, setBit } from "../../base/bits.js";
import { TrawlError } from "../../base/errors.js";
import { blobSizes, compareAlong, type PathState, type TreeChain } from "../../git/tree-chain.js";
import { skipCodeOf } from "../../shard/format.js";
import { ShardReader } from "../../shard/shard-reader.js";
import { skipReasons } from "../../model/skip-reason.js";
import type { FindDocuments, FoundDocuments, MissingPart } from "../read-messages.js";
import { CommitSets } from "./commit-sets.js";
import { mirrorOf, type ReadContext } from "./context.js";
import { contentBytesMaxOf } from "./keep-documents.js";
import { encodeEntries, type MissingEntry } from "./missing-entries.js";

/** States of paths that one chain may hold, beyond one comparison: some 200 bytes each. */
const stateCountMax = 400_000;

/** A part ends at this much text, or so many documents: small enough that reading and searching go side by side. */
const partTextBytes = 8 << 20;
const partDocumentCount = 20_000;

/** What a document takes in a shard beside its text, its path and its oid; and a shard beside all documents. */
const documentBytes = 64;
const shardBytes = 16 * 1024;

/**
 * Finds, for commits that are not indexed, which documents of shards they have.
 *
 * A path that is the same at the base and at all commits has the base's document. Each other path has a sequence of
 * states; a document at that path with a state's oid has the commits of that state. A state for which there is no document in any
 * shard is missing. Sound: a document of a live shard whose path did not change is the base's if it is alive there and on
 * the base's branch, and whatever else it is, it belongs to other commits.
 */
export async function answerFindDocuments(request: FindDocuments, context: ReadContext): Promise<FoundDocuments> {
  const { chain, base } = await chainOf(request, context);
  const sets = new CommitSets(chain.commits.length);
  const wanted = new WantedDocuments(chain, sets);
  const snapshot = context.store().read();
  const live: Uint32Array[] = [];
  try {
    for (const { id, tombstones } of request.live) {
      const bytes = snapshot.get(id);
      if (bytes === undefined) throw new TrawlError("corrupt-shard", `shard ${id} is missing from the store`);
      live.push(setsOfLive(new ShardReader(id, bytes), request.repositoryId, base?.bit ?? -1, tombstones, wanted, sets.all));
      if (context.stop()) throw new TrawlError("cancelled", "the search was stopped");
    }
  } finally {
    snapshot.close();
  }
  const kept = request.kept.map(({ id, from, to }) => setsOfKept(new ShardReader(id, new Uint8Array(context.arena, from, to - from)), request.repositoryId, wanted));
  const parts = await partsOf(wanted.missing(), request, context);
  return { commits: chain.commits, ...sets.encode(), live, kept, parts };
}

/** Without the base when the mirror has lost its commit, after a force-push and a repack. */
async function chainOf({ repositoryId, base, commits }: FindDocuments, context: ReadContext): Promise<{ chain: TreeChain; base: FindDocuments["base"] }> {
  const mirror = mirrorOf(context, repositoryId);
  try {
    return { chain: await compareAlong(mirror, base?.commit, commits, stateCountMax, context.stop), base };
  } catch (error) {
    if (base === undefined || !(error instanceof TrawlError) || error.code !== "git") throw error;
    return { chain: await compareAlong(mirror, undefined, commits, stateCountMax, context.stop), base: undefined };
  }
}

/** An oid that lies at a path at some commits. */
interface WantedDocument {
  readonly oid: string;
  readonly isFile: boolean;
  readonly set: number;
  isFound: boolean;
}

/** Bits of an oid by which those that cannot be wanted are told at once. */
const filterBits = 22;

/** What the commits have at the paths that differ somewhere. */
class WantedDocuments {
  readonly #ofPath = new Map<string, readonly WantedDocument[]>();
  /** Bit per start of an oid that lies at such a path, at the base or at a commit. */
  readonly #filter = new Uint32Array(2 ** (filterBits - 5));
  /** Texts that live shards have, by oid. */
  readonly #sources = new Map<string, { shardId: number; content: number }>();

  constructor({ paths, commits }: TreeChain, sets: CommitSets) {
    for (const [path, states] of paths) this.#ofPath.set(path, this.#documentsOf(states, commits.length, sets));
  }

  #documentsOf(states: readonly PathState[], commitCount: number, sets: CommitSets): WantedDocument[] {
    const ranges = new Map<string, { oid: string; isFile: boolean; ranges: number[] }>();
    states.forEach(({ from, oid, isFile }, i) => {
      if (oid === null) return;
      const bits = Number.parseInt(oid.slice(0, 8), 16) >>> (32 - filterBits);
      setBit(this.#filter, bits);
      const to = states[i + 1]?.from ?? commitCount;
      if (to <= Math.max(0, from)) return;
      const key = `${oid}${isFile}`;
      const known = ranges.get(key) ?? { oid, isFile, ranges: [] };
      known.ranges.push(Math.max(0, from), to);
      ranges.set(key, known);
    });
    return [...ranges.values()].map(({ oid, isFile, ranges: pairs }) => ({ oid, isFile, set: sets.add(pairs), isFound: false }));
  }

  /**
   * The set of a document; undefined when its path is the same everywhere. `oids` holds its oid at `oidFrom`.
   * A live shard's text that is wanted at another path is noted.
   */
  setOf(reader: ShardReader, document: number, isLive: boolean): number | undefined {
    const { documentOids } = reader;
    const at = document * reader.oidBytes;
    const bits = ((documentOids[at] << 24 | documentOids[at + 1] << 16 | documentOids[at + 2] << 8 | documentOids[at + 3]) >>> (32 - filterBits));
    if (!hasBit(this.#filter, bits)) return undefined;
    const oid = reader.oidOf(document);
    const isFile = skipCodeOf(reader.documentInfo[document]) !== skipReasons["not-regular"].code;
    const documents = this.#ofPath.get(reader.pathOf(document).toString("latin1"));
    if (isLive) this.#noteSource(reader, document, oid);
    if (documents === undefined) return undefined;
    const found = documents.find((wanted) => wanted.isFile === isFile && oid.startsWith(wanted.oid) && !wanted.isFound);
    if (found === undefined) return 0;
    found.isFound = true;
    return found.set;
  }

  #noteSource(reader: ShardReader, document: number, oid: string): void {
    const content = reader.contentOf(document);
    if (content < reader.contentCount) this.#sources.set(oid, { shardId: reader.id, content });
  }

  *missing(): Generator<MissingEntry> {
    for (const [path, documents] of this.#ofPath) {
      for (const { oid, isFile, set, isFound } of documents) {
        if (!isFound) yield { path, oid, isFile, set, source: isFile ? this.#sources.get(oid) : undefined };
      }
    }
  }
}

function setsOfLive(reader: ShardReader, repositoryId: number, baseBit: number, tombstones: Uint32Array | undefined,
  wanted: WantedDocuments, all: number): Uint32Array {
  const sets = sharedWords(reader.documentCount);
  const repository = reader.repositories.indexOf(repositoryId);
  for (let document = 0; document < sets.length; document++) {
    if (reader.documentRepository[document] !== repository) continue;
    const isDead = tombstones !== undefined && hasBit(tombstones, document);
    const isOfBase = !isDead && baseBit >= 0 && ((reader.documentBranches[document] >>> baseBit) & 1) === 1;
    sets[document] = wanted.setOf(reader, document, true) ?? (isOfBase ? all : 0);
  }
  return sets;
}

function setsOfKept(reader: ShardReader, repositoryId: number, wanted: WantedDocuments): Uint32Array {
  const sets = sharedWords(reader.documentCount);
  const repository = reader.repositories.indexOf(repositoryId);
  for (let document = 0; document < sets.length; document++) {
    if (reader.documentRepository[document] === repository) sets[document] = wanted.setOf(reader, document, false) ?? 0;
  }
  return sets;
}

function sharedWords(count: number): Uint32Array {
  return new Uint32Array(new SharedArrayBuffer(count * 4));
}

/** Cuts entries into parts. Entries of one blob are neighbours, so that it is read once for a part. */
async function partsOf(missing: Iterable<MissingEntry>, { repositoryId, limits }: FindDocuments, context: ReadContext): Promise<MissingPart[]> {
  const entriesOf = new Map<string, MissingEntry[]>();
  for (const entry of missing) {
    const group = entriesOf.get(entry.oid);
    if (group === undefined) entriesOf.set(entry.oid, [entry]);
    else group.push(entry);
  }
  const oids = [...entriesOf].filter(([, [first]]) => first.isFile).map(([oid]) => oid);
  const sizes = new Map((await blobSizes(mirrorOf(context, repositoryId), oids, context.stop)).map((size, i) => [oids[i], size]));
  const contentBytesMax = contentBytesMaxOf(limits, context.arena);
  const parts: MissingPart[] = [];
  let entries: MissingEntry[] = [];
  let textBytes = 0;
  let otherBytes = shardBytes;
  const close = (): void => {
    if (entries.length === 0) return;
    parts.push({ entries: encodeEntries(entries), shardBytesMax: textBytes + Math.ceil(textBytes / 128) + otherBytes });
    entries = [];
    textBytes = 0;
    otherBytes = shardBytes;
  };
  for (const [oid, group] of entriesOf) {
    const size = sizes.get(oid) ?? 0;
    const bytes = size > 0 && size <= contentBytesMax ? size : 0;
    if (textBytes + bytes > partTextBytes || entries.length >= partDocumentCount) close();
    entries.push(...group);
    textBytes += bytes;
    otherBytes += group.reduce((sum, { path }) => sum + path.length + oid.length / 2 + documentBytes, 0);
  }
  close();
  return parts;
}
