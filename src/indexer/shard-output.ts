import { uninitializedBytes } from "../base/bytes.js";
import type { ShardRecord } from "../model/shard-record.js";
import type { Kernel } from "../native/kernel/kernel.js";
import { ShardBuilder, type DocumentInput } from "../shard/shard-builder.js";
import type { KnownSymbols } from "../shard/symbols/known-symbols.js";
import { ShardReader } from "../shard/shard-reader.js";
import type { ObjectKind } from "../objects/object-store.js";
import type { ShardStore } from "../store/shard-store.js";

/**
 * A shard is closed when its text reaches this size. Larger shards would leave cores idle in a search; smaller ones add
 * look-ups.
 */
const shardContentBytes = 64 * 1024 * 1024;

/** The destination of shards. */
export interface ShardSink extends Pick<ShardStore, "put" | "putSymbols"> {
  /** Called before a shard with this much text is built, which blocks the thread. */
  readonly onBuild: (contentBytes: number) => void;
  /** Stores what was written where the other nodes of a fleet find it, too; resolves with its name there. Undefined on a single host. */
  readonly share?: ((kind: ObjectKind, bytes: Buffer) => Promise<string>) | undefined;
}

/**
 * Fills shards one after another and writes each when it is full; documents of several repositories share a shard.
 *
 * Contract: all documents of one content are added consecutively (`hasContent`, then `addContent` or nothing, then
 * `addDocument`), because `addContent` may close a shard and open the next.
 */
export class ShardOutput {
  /** The shards written so far, in order; durable. */
  readonly records: ShardRecord[] = [];
  readonly #kernel: Kernel;
  readonly #builder: ShardBuilder;
  readonly #store: ShardSink;
  readonly #shardIds: Int32Array;
  #symbols: KnownSymbols | undefined;
  /** Settles when the last shard is shared, while the next one is filled. */
  #sharing: Promise<void> = Promise.resolve();

  /** Word 0 of `shardIds` is the next free id, shared by all writers of shards. */
  constructor(kernel: Kernel, store: ShardSink, shardIds: Int32Array) {
    this.#kernel = kernel;
    this.#builder = new ShardBuilder(kernel, undefined);
    this.#store = store;
    this.#shardIds = shardIds;
  }

  /** From now on, shards are written with their symbols if those of all their texts are known. */
  useSymbols(symbols: KnownSymbols): void {
    this.#symbols = symbols;
  }

  /** Number of the content in the open shard, or -1. */
  findContent(oid: string): number {
    return this.#builder.findContent(oid);
  }

  /** A content of the open shard; valid until the next `addContent`. */
  contentText(content: number): Buffer {
    return this.#builder.contentText(content);
  }

  async addContent(oid: string, content: Uint8Array): Promise<number> {
    if (!this.#builder.isEmpty && this.#builder.contentBytes + content.length > shardContentBytes) await this.#write();
    return this.#builder.addContent(oid, content);
  }

  addDocument(content: number, document: DocumentInput): void {
    this.#builder.addDocument(content, document);
  }

  addSkipped(document: DocumentInput): void {
    this.#builder.addSkipped(document);
  }

  /** Writes the open shard, if it contains anything. All records are complete then. */
  async flush(): Promise<void> {
    await this.#write();
    await this.#sharing;
  }

  async #write(): Promise<void> {
    if (this.#builder.isEmpty) return;
    const { contentBytes, documentCount } = this.#builder;
    this.#store.onBuild(contentBytes);
    const bytes = this.#builder.build(uninitializedBytes);
    const id = Atomics.add(this.#shardIds, 0, 1) >>> 0;
    const reader = new ShardReader(id, bytes);
    await this.#store.put([{ id, bytes }]);
    const symbols = this.#symbols?.symbolsOf(reader, this.#kernel);
    if (symbols !== undefined) await this.#store.putSymbols([{ id, bytes: symbols.bytes }]);
    const at = this.records.push({
      id,
      checksum: reader.checksum,
      storedBytes: bytes.length,
      contentBytes,
      documentCount,
      repositoryIds: [...reader.repositories],
      ...(symbols === undefined ? {} : { symbols: symbols.record }),
    });
    if (this.#store.share === undefined) return;
    // One at a time: each is as large as a shard.
    await this.#sharing;
    this.#sharing = this.#share(at - 1, bytes, symbols?.bytes);
    // Whoever waits for it gets the failure.
    this.#sharing.catch(() => undefined);
  }

  /** The record gets the names of what is stored. */
  async #share(at: number, bytes: Buffer, symbols: Buffer | undefined): Promise<void> {
    const { share } = this.#store;
    const record = this.records[at];
    if (share === undefined || record === undefined) return;
    const named = { ...record, object: await share("shard", bytes) };
    this.records[at] =
      symbols === undefined || named.symbols === undefined
        ? named
        : { ...named, symbols: { ...named.symbols, object: await share("symbols", symbols) } };
  }
}
