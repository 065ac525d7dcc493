import { TrawlError } from "../../base/errors.js";
import { StoredObjects } from "../../git/objects/stored-objects.js";
import { readBlobs } from "../../git/objects/read-blobs.js";
import { contentLimitsFor, trigramCheckBytesMin } from "../../indexer/classify.js";
import { textKinds } from "../../native/packs/packs.js";
import { ShardReader } from "../../shard/shard-reader.js";
import type { IndexLimits } from "../../protocol/ingest-messages.js";
import type { CacheDocuments, CachedDocuments } from "../../protocol/read-messages.js";
import { CachedShardBuilder } from "./cached-shard-builder.js";
import { mirrorPath, type ReadContext } from "./context.js";
import { decodeEntries, type MissingEntry } from "./missing-entries.js";

/** git is considered hung if one step of reading takes longer than this. */
const readSilenceMs = 120_000;

/** A blob may take at most one part in this many of the revision cache. */
const arenaBytesPerBlob = 4;

/** The entries of a blob, by its oid. */
type EntriesOfBlobs = Map<string, MissingEntry[]>;

/** Larger blobs are not read for the revision cache; their documents are found by path. */
export function largestContentBytes(limits: IndexLimits, arena: SharedArrayBuffer): number {
  const wanted = limits.largeFiles.length === 0 ? limits.fileBytesMax : arena.byteLength;
  return Math.min(wanted, Math.floor(arena.byteLength / arenaBytesPerBlob));
}

/**
 * Builds one shard of the entries. Each blob is copied from a live shard that has it, or else read from the mirror,
 * once: into the shard itself, or by git if it cannot be read without.
 */
export async function answerKeepDocuments(request: CacheDocuments, context: ReadContext): Promise<CachedDocuments> {
  const { from, to } = request.bytes;
  const shard = new CachedShardBuilder(
    request.repositoryId,
    contentLimitsFor(request.limits),
    context,
    Buffer.from(context.arena, from, to - from),
  );
  const entriesOf: EntriesOfBlobs = new Map();
  for (const entry of decodeEntries(request.entries)) {
    if (!entry.isFile) {
      shard.addSkipped(entry, "not-regular");
      continue;
    }
    const others = entriesOf.get(entry.oid);
    if (others === undefined) entriesOf.set(entry.oid, [entry]);
    else others.push(entry);
  }
  copyKnown(entriesOf, shard, context);
  const readCount = entriesOf.size;
  const contentBytesMax = largestContentBytes(request.limits, context.arena);
  const directory = mirrorPath(context, request.repositoryId);
  readStored(directory, entriesOf, contentBytesMax, shard, context);
  const options = { directory, contentBytesMax, silenceMs: readSilenceMs, stop: context.stop };
  const others = [...entriesOf];
  const oids = others.map(([oid]) => oid);
  await readBlobs(options, oids, (index, outcome) => {
    const entries = others[index][1];
    if (outcome.kind === "content") shard.addBlob(entries, outcome.content);
    else for (const entry of entries) shard.addSkipped(entry, outcome.kind);
  });
  return { byteCount: shard.build(), readCount, sets: shard.sets, missingCount: shard.missingCount };
}

/** Copies the blobs that live shards have, and removes them from `entriesOf`. */
function copyKnown(entriesOf: EntriesOfBlobs, shard: CachedShardBuilder, context: ReadContext): void {
  const known = [...entriesOf].filter(([, [{ source }]]) => source !== undefined);
  if (known.length === 0) return;
  const snapshot = context.store().read();
  try {
    const shardIds = new Set(known.flatMap(([, [{ source }]]) => (source === undefined ? [] : [source.shardId])));
    for (const id of shardIds) {
      // If the shard cannot be read, the blob is read from the mirror like any other.
      const bytes = snapshot.get(id);
      if (bytes === undefined) continue;
      const reader = new ShardReader(id, bytes);
      for (const [oid, entries] of known) {
        const { source } = entries[0];
        if (source?.shardId !== id) continue;
        if (context.stop()) throw new TrawlError("cancelled", "the search was stopped");
        shard.addText(
          entries,
          reader.content.subarray(reader.contentStart[source.content], reader.contentStart[source.content + 1]),
        );
        entriesOf.delete(oid);
      }
    }
  } finally {
    snapshot.close();
  }
}

/** Unpacks the blobs that can be read without git into the shard, and removes them from `entriesOf`. */
function readStored(
  directory: string,
  entriesOf: EntriesOfBlobs,
  contentBytesMax: number,
  shard: CachedShardBuilder,
  { stop }: ReadContext,
): void {
  const wanted: (readonly [string, MissingEntry[]])[] = [];
  for (const [oid, entries] of entriesOf) {
    const [{ blobBytes }] = entries;
    if (blobBytes < 0 || blobBytes > contentBytesMax) continue;
    if (!shard.areTooLarge(entries, blobBytes)) wanted.push([oid, entries]);
    else {
      shard.addWithoutText(entries, blobBytes);
      entriesOf.delete(oid);
    }
  }
  const objects = wanted.length === 0 ? undefined : StoredObjects.open(directory, wanted[0][0].length, stop);
  if (objects === undefined) return;
  const oids = Buffer.from(wanted.map(([oid]) => oid).join(""), "hex");
  const oidBytes = oids.length / wanted.length;
  const sizes = Uint32Array.from(wanted, ([, [{ blobBytes }]]) => blobBytes);
  const kinds = new Uint32Array(wanted.length);
  try {
    for (let next = 0; next < wanted.length; ) {
      const { count } = objects.readTexts(
        oids.subarray(next * oidBytes),
        sizes.subarray(next),
        shard.room,
        trigramCheckBytesMin,
        kinds,
      );
      // What has no room is left to git, like what cannot be read here.
      if (count === 0) return;
      for (let i = 0; i < count; i++) {
        const [oid, entries] = wanted[next + i];
        if (kinds[i] === textKinds.notFound) continue;
        if (kinds[i] === textKinds.binary) shard.addWithoutText(entries, sizes[next + i]);
        else shard.addWritten(entries, sizes[next + i], kinds[i] === textKinds.ascii);
        entriesOf.delete(oid);
      }
      next += count;
    }
  } finally {
    objects.close();
  }
}
