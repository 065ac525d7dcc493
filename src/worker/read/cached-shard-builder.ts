import { textToIndex, hasTooManyTrigrams, isTooLarge, detectLanguageName, markOfText } from "../../indexer/classify.js";
import type { ContentLimits } from "../../indexer/classify.js";
import { hasText, type SkipReason } from "../../model/skip-reason.js";
import type { DocumentInput } from "../../shard/document-input.js";
import { ShardBuilder } from "../../shard/shard-builder.js";
import type { ReadContext } from "./context.js";
import type { MissingEntry } from "./missing-entries.js";

const noBytes = Buffer.alloc(0);

/** A shard of the revision cache under construction, and the sets of its documents in the shard's order. */
export class CachedShardBuilder {
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

  #makeDocument({ path, oid }: MissingEntry, content: Buffer, skipReason: SkipReason): DocumentInput {
    return {
      repositoryId: this.#repositoryId,
      path,
      branchMask: 0,
      oid,
      language: detectLanguageName(path, content),
      skipReason,
    };
  }
}
