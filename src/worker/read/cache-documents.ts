import { TrawlError } from "../../base/errors.js";
import { StoredObjects } from "../../git/objects/stored-objects.js";
import { readBlobs } from "../../git/objects/read-blobs.js";
import {
  type ContentLimits,
  contentLimitsFor,
  detectLanguageName,
  hasTooManyTrigrams,
  isTooLarge,
  markOfText,
  textToIndex,
  trigramCheckBytesMin,
} from "../../indexer/classify.js";
import { type PathRules, rulesOfKey } from "../../indexer/rules/path-rules.js";
import { textKinds } from "../../native/packs/packs.js";
import { ShardReader } from "../../shard/shard-reader.js";
import type { IndexLimits } from "../../protocol/ingest-messages.js";
import type { CachedDocuments, CacheDocuments } from "../../protocol/read-messages.js";
import { mirrorPath, type ReadContext } from "./context.js";
import { hasText, type SkipReason } from "../../model/skip-reason.js";
import { type DocumentInput, ShardBuilder } from "../../shard/shard-builder.js";

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
    const withoutText = reasonWithoutText(entry);
    if (withoutText !== undefined) {
      shard.addSkipped(entry, withoutText);
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

/** Why an entry has no text, whatever its blob; undefined if the blob decides. */
function reasonWithoutText({ isFile, isSubmodule, isLeftOut, rules }: MissingEntry): SkipReason | undefined {
  if (!isFile) return isSubmodule ? "submodule" : "not-regular";
  if (rules.isIgnored) return "ignored";
  return isLeftOut ? "lfs" : undefined;
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

const noBytes = Buffer.alloc(0);

/** A shard of the revision cache under construction, and the sets of its documents in the shard's order. */
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

  /** Caller guarantees: the shard fits into `buffer`. */
  constructor(repositoryId: number, limits: ContentLimits, context: ReadContext, buffer: Buffer) {
    this.#repositoryId = repositoryId;
    this.#limits = limits;
    this.#context = context;
    this.#builder = new ShardBuilder(context.kernel, buffer);
  }

  /** The set of each document; documents without content come last. */
  get sets(): Uint32Array {
    const count = this.#sets.reduce((sum, { length }) => sum + length, this.#skippedSets.length);
    const words = new Uint32Array(new SharedArrayBuffer(count * 4));
    let at = 0;
    for (const sets of this.#sets) for (const set of sets) words[at++] = set;
    words.set(this.#skippedSets, at);
    return words;
  }

  /** Room for the texts that are added by `addWritten`. */
  get room(): Buffer {
    return this.#builder.room;
  }

  /** Whether no entry of a blob of this size has content. */
  areTooLarge(entries: readonly MissingEntry[], byteCount: number): boolean {
    return entries.every(({ path }) => isTooLarge(byteCount, path, this.#limits));
  }

  /** The entries of one blob, which is too large or has a zero byte. */
  addWithoutText(entries: readonly MissingEntry[], byteCount: number): void {
    for (const entry of entries)
      this.addSkipped(entry, isTooLarge(byteCount, entry.path, this.#limits) ? "too-large" : "binary");
  }

  /** The entries of one blob, whose text without zero bytes was written to the beginning of `room`. */
  addWritten(entries: readonly MissingEntry[], byteCount: number, isAscii: boolean): void {
    const content = this.room.subarray(0, byteCount);
    const { kernel } = this.#context;
    const reason = hasTooManyTrigrams(content, this.#limits, kernel) ? "too-many-trigrams" : markOfText(content);
    this.#add(entries, content, byteCount, reason, (oid) => this.#builder.addWritten(oid, byteCount, isAscii));
  }

  /** The entries of one blob. */
  addBlob(entries: readonly MissingEntry[], content: Buffer): void {
    const { path } = entries.find((entry) => !isTooLarge(content.length, entry.path, this.#limits)) ?? entries[0];
    const { text, skipReason } = textToIndex(content, path, this.#limits, this.#context.kernel);
    this.#add(entries, text, content.length, skipReason, (oid) => this.#builder.addContent(oid, text));
  }

  /** The entries of one blob, whose text a live shard has. */
  addText(entries: readonly MissingEntry[], text: Buffer): void {
    const reason = hasTooManyTrigrams(text, this.#limits, this.#context.kernel)
      ? "too-many-trigrams"
      : markOfText(text);
    this.#add(entries, text, entries[0].blobBytes, reason, (oid) => this.#builder.addContent(oid, text));
  }

  #add(
    entries: readonly MissingEntry[],
    content: Buffer,
    blobBytes: number,
    reason: SkipReason,
    addContent: (oid: string) => number,
  ): void {
    let number: number | undefined;
    for (const entry of entries) {
      const skipped = isTooLarge(blobBytes, entry.path, this.#limits) ? "too-large" : reason;
      if (!hasText(skipped)) {
        this.addSkipped(entry, skipped);
        continue;
      }
      number ??= addContent(entry.oid);
      this.#builder.addDocument(number, this.#makeDocument(entry, content, skipped));
      (this.#sets[number] ??= []).push(entry.set);
    }
  }

  addSkipped(entry: MissingEntry, reason: SkipReason): void {
    this.#builder.addSkipped(this.#makeDocument(entry, noBytes, reason));
    this.#skippedSets.push(entry.set);
    if (reason === "missing") this.missingCount++;
  }

  /** Returns the shard's size. */
  build(): number {
    return this.#builder.buildInPlace();
  }

  #makeDocument({ path, oid, rules }: MissingEntry, content: Buffer, skipReason: SkipReason): DocumentInput {
    return {
      repositoryId: this.#repositoryId,
      path,
      branchMask: 0,
      oid,
      language: rules.language || detectLanguageName(path, content),
      flags: rules.flags,
      skipReason,
    };
  }
}

/** A document that no shard has yet. */
export interface MissingEntry {
  readonly path: Buffer;
  readonly oid: string;
  readonly isFile: boolean;
  /** Whether it is a submodule whose contents are wanted. */
  readonly isSubmodule: boolean;
  /** Whether it is a pointer of Git LFS whose contents are not here. */
  readonly isLeftOut: boolean;
  readonly rules: PathRules;
  /** The document's set of commits. */
  readonly set: number;
  /** Undefined if no live shard has the text. */
  readonly source: TextSource | undefined;
  /** Of the blob; -1 if the mirror lacks it, or it is not a blob. */
  readonly blobBytes: number;
}

/** Where a live shard has the text at another path, so that it need not be read from the mirror. */
export interface TextSource {
  readonly shardId: number;
  readonly content: number;
}

/** Entries as bytes, each terminated by a NUL: they pass through the main thread, which does not decode them. */
export class EntryWriter {
  #text = "";
  count = 0;

  /** The path has one character per byte. */
  add(
    {
      path,
      oid,
      isFile,
      isSubmodule,
      isLeftOut,
      rules,
      set,
    }: { readonly path: string } & Pick<MissingEntry, "oid" | "isFile" | "isSubmodule" | "isLeftOut" | "rules" | "set">,
    source: TextSource | undefined,
    blobBytes: number,
  ): void {
    const from = source === undefined ? "-" : `${source.shardId}:${source.content}`;
    const kind = isLeftOut ? "p" : isFile ? "f" : isSubmodule ? "s" : "x";
    this.#text += `${kind} ${oid} ${set} ${from} ${blobBytes} ${rules.key || "-"} ${path}\0`;
    this.count++;
  }

  bytes(): Uint8Array {
    return Buffer.from(this.#text, "latin1");
  }
}

/** The paths are parts of `bytes`. */
function decodeEntries(bytes: Uint8Array): MissingEntry[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const entries: MissingEntry[] = [];
  for (let at = 0; at < buffer.length; ) {
    const end = buffer.indexOf(0, at);
    const words = buffer.toString("latin1", at, Math.min(end, at + headBytesMax)).split(" ", 6);
    const [kind, oid, set, from, blobBytes, rules] = words;
    const headBytes = words.reduce((sum, { length }) => sum + length + 1, 0);
    entries.push({
      path: buffer.subarray(at + headBytes, end),
      oid,
      isFile: kind === "f" || kind === "p",
      isSubmodule: kind === "s",
      isLeftOut: kind === "p",
      rules: rulesOfKey(rules === "-" ? "" : rules),
      set: Number(set),
      source: from === "-" ? undefined : decodeSource(from),
      blobBytes: Number(blobBytes),
    });
    at = end + 1;
  }
  return entries;
}

/** What precedes a path is shorter: an oid of 64 characters, some numbers, and the name of a language. */
const headBytesMax = 256;

function decodeSource(text: string): TextSource {
  const [shardId, content] = text.split(":", 2);
  return { shardId: Number(shardId), content: Number(content) };
}
