import { TrawlError } from "../../base/errors.js";
import { readBlobs } from "../../git/objects/read-blobs.js";
import {
  contentLimitsFor,
  isTooLarge,
  detectLanguageName,
  skipReasonOfContent,
  type ContentLimits,
} from "../../indexer/classify.js";
import type { SkipReason } from "../../model/skip-reason.js";
import { ShardBuilder } from "../../shard/shard-builder.js";
import type { DocumentInput } from "../../shard/document-input.js";
import { ShardReader } from "../../shard/shard-reader.js";
import type { IndexLimits } from "../../protocol/ingest-messages.js";
import type { CacheDocuments, CachedDocuments } from "../../protocol/read-messages.js";
import { mirrorPath, type ReadContext } from "./context.js";
import { decodeEntries, type MissingEntry } from "./missing-entries.js";

/** git is considered hung if one step of reading takes longer than this. */
const readSilenceMs = 120_000;

/** A blob may take at most one part in this many of the revision cache. */
const arenaBytesPerBlob = 4;

/** Larger blobs are not read for the revision cache; their documents are found by path. */
export function largestContentBytes(limits: IndexLimits, arena: SharedArrayBuffer): number {
  const wanted = limits.largeFiles.length === 0 ? limits.fileBytesMax : arena.byteLength;
  return Math.min(wanted, Math.floor(arena.byteLength / arenaBytesPerBlob));
}

/**
 * Builds one shard of the entries. Each blob is copied from a live shard that has it, or else read from the mirror,
 * once.
 */
export async function answerKeepDocuments(request: CacheDocuments, context: ReadContext): Promise<CachedDocuments> {
  const { from, to } = request.bytes;
  const shard = new CachedShardBuilder(
    request.repositoryId,
    contentLimitsFor(request.limits),
    context,
    Buffer.from(context.arena, from, to - from),
  );
  const entriesOf = new Map<string, MissingEntry[]>();
  for (const entry of decodeEntries(request.entries)) {
    if (!entry.isFile) shard.addSkipped(entry, "not-regular");
    else entriesOf.set(entry.oid, [...(entriesOf.get(entry.oid) ?? []), entry]);
  }
  copyKnown(entriesOf, shard, context);
  await readOthers(request, entriesOf, shard, context);
  return { byteCount: shard.build(), readCount: entriesOf.size, sets: shard.sets, missingCount: shard.missingCount };
}

/** Copies the blobs that live shards have, and removes them from `entriesOf`. */
function copyKnown(entriesOf: Map<string, MissingEntry[]>, shard: CachedShardBuilder, context: ReadContext): void {
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
        shard.addBlob(
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

async function readOthers(
  { repositoryId, limits }: CacheDocuments,
  entriesOf: ReadonlyMap<string, readonly MissingEntry[]>,
  shard: CachedShardBuilder,
  context: ReadContext,
): Promise<void> {
  if (entriesOf.size === 0) return;
  const contentBytesMax = largestContentBytes(limits, context.arena);
  const groups = [...entriesOf];
  const options = {
    directory: mirrorPath(context, repositoryId),
    contentBytesMax,
    silenceMs: readSilenceMs,
    stop: context.stop,
  };
  await readBlobs(
    options,
    groups.map(([oid]) => oid),
    (index, outcome) => {
      const entries = groups[index][1];
      if (outcome.kind === "content") shard.addBlob(entries, outcome.content);
      else for (const entry of entries) shard.addSkipped(entry, outcome.kind);
    },
    (byteCount) => shard.placeFor(byteCount),
  );
}

/** A shard under construction, and the sets of its documents in the shard's order. */
class CachedShardBuilder {
  readonly #repositoryId: number;
  readonly #limits: ContentLimits;
  readonly #context: ReadContext;
  readonly #builder: ShardBuilder;
  /** By content. */
  readonly #sets: number[][] = [];
  readonly #skippedSets: number[] = [];
  /** Documents whose blob is missing from the mirror. */
  missingCount = 0;

  constructor(repositoryId: number, limits: ContentLimits, context: ReadContext, buffer: Buffer) {
    this.#repositoryId = repositoryId;
    this.#limits = limits;
    this.#context = context;
    this.#builder = new ShardBuilder(context.kernel, buffer);
  }

  /** The set of each document; documents without content come last. */
  get sets(): Uint32Array {
    const sets = [...this.#sets.flat(), ...this.#skippedSets];
    const words = new Uint32Array(new SharedArrayBuffer(sets.length * 4));
    words.set(sets);
    return words;
  }

  /** Where the next blob can be written so that it is not copied. */
  placeFor(byteCount: number): Buffer | undefined {
    return this.#builder.placeFor(byteCount);
  }

  /** The entries of one blob. */
  addBlob(entries: readonly MissingEntry[], content: Buffer): void {
    const readable: MissingEntry[] = [];
    for (const entry of entries) {
      if (isTooLarge(content.length, Buffer.from(entry.path, "latin1"), this.#limits))
        this.addSkipped(entry, "too-large");
      else readable.push(entry);
    }
    if (readable.length === 0) return;
    const [first] = readable;
    const reason = skipReasonOfContent(content, Buffer.from(first.path, "latin1"), this.#limits, this.#context.kernel);
    if (reason !== "none") {
      for (const entry of readable) this.addSkipped(entry, reason);
      return;
    }
    const number = this.#builder.addContent(first.oid, content);
    this.#sets[number] ??= [];
    for (const entry of readable) {
      this.#builder.addDocument(number, this.#makeDocument(entry, content, "none"));
      this.#sets[number].push(entry.set);
    }
  }

  addSkipped(entry: MissingEntry, reason: SkipReason): void {
    this.#builder.addSkipped(this.#makeDocument(entry, Buffer.alloc(0), reason));
    this.#skippedSets.push(entry.set);
    if (reason === "missing") this.missingCount++;
  }

  /** Returns the shard's size. */
  build(): number {
    return this.#builder.buildInPlace();
  }

  #makeDocument({ path, oid }: MissingEntry, content: Buffer, skipReason: SkipReason): DocumentInput {
    const bytes = Buffer.from(path, "latin1");
    return {
      repositoryId: this.#repositoryId,
      path: bytes,
      branchMask: 0,
      oid,
      language: detectLanguageName(bytes, content),
      skipReason,
    };
  }
}
