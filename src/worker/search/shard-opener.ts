import { BoundedMap } from "../../base/bounded-map.js";
import { TrawlError } from "../../base/errors.js";
import { columnText } from "../../eval/match/path-match.js";
import type { CachedShardRange } from "../../protocol/messages.js";
import { noColumn, ShardFilter } from "../../protocol/shard-filter.js";
import type { ShardPart, ShardTable } from "../../protocol/shard-table.js";
import { ReaderCache } from "../../shard/reader-cache.js";
import { SymbolReader } from "../../shard/symbols/symbol-reader.js";
import { SymbolView } from "../../shard/symbols/symbol-view.js";
import { ShardReader } from "../../shard/shard-reader.js";
import type { ShardSnapshot, ShardStore } from "../../store/shard-store.js";

/** A shard that is ready to be searched. */
export interface OpenShard {
  readonly reader: ShardReader;
  readonly summaries: Uint8Array;
  readonly tombstones: Uint32Array | undefined;
  /** Throws `corrupt-shard` when the content is damaged. */
  readonly checkContent: () => void;
}

/** Opens and verifies the shards that one thread searches. */
export class ShardOpener {
  readonly #store: ShardStore;
  /** The memory of the revision cache. */
  readonly #arena: SharedArrayBuffer;
  readonly #readers = new ReaderCache();
  #views = newViews();
  #viewFaultCount = 0;
  #records = newRecords();
  #recordFaultCount = 0;

  constructor(store: ShardStore, arena: SharedArrayBuffer) {
    this.#store = store;
    this.#arena = arena;
  }

  /** How often the store could not read a page. Bytes that were read meanwhile may be zeros. */
  get faultCount(): number {
    return this.#store.guard.faultCount;
  }

  /** Opens the live shard of a row of the table. Throws `corrupt-shard` when it is missing or damaged. */
  open(snapshot: ShardSnapshot, table: ShardTable, row: number, filter: SharedArrayBuffer): OpenShard {
    const id = table.shardId(row);
    const bytes = snapshot.get(id);
    if (bytes === undefined)
      throw new TrawlError(
        "corrupt-shard",
        `shard ${id} is missing from the store. \`trawl check --repair\` rebuilds it.`,
      );
    const reader = this.#readers.open(id, bytes, this.faultCount);
    reader.requireChecksum(table.checksum(row));
    this.#verifyOnce(reader, table, row, "index");
    fillColumnOnce(reader, table.filterColumn(row), new ShardFilter(filter));
    return {
      reader,
      summaries: table.repositorySummaries(row),
      tombstones: table.tombstones(row),
      checkContent: () => this.#verifyOnce(reader, table, row, "content"),
    };
  }

  /** The symbols of a live shard; undefined if it has none yet, or if they are damaged. */
  openSymbols(
    snapshot: ShardSnapshot,
    table: ShardTable,
    row: number,
    filter: SharedArrayBuffer,
  ): OpenShard | undefined {
    const id = table.shardId(row);
    const checksum = table.symbols(row);
    if (checksum === undefined) return undefined;
    const { faultCount } = this;
    if (faultCount !== this.#viewFaultCount) this.#views = newViews();
    this.#viewFaultCount = faultCount;
    const last = this.#views.get(id);
    const known = last?.view.symbols.checksum === checksum ? last : undefined;
    // Read before the shard, because the next read may overwrite the bytes of a small shard.
    const value = known?.value ?? snapshot.symbols(id);
    const shard = this.open(snapshot, table, row, filter);
    if (value === undefined) return undefined;
    const view = known?.view.text === shard.reader ? known.view : makeView(shard.reader, value);
    if (view?.symbols.checksum !== checksum) return undefined;
    this.#views.set(id, { view, value });
    return { ...shard, reader: view };
  }

  /** Opens a shard of the revision cache. It was built by this process and never left memory, so it is not verified. */
  openCached({ id, from, to, summaries }: CachedShardRange): OpenShard {
    const reader = new ShardReader(id, new Uint8Array(this.#arena, from, to - from));
    return { reader, summaries, tombstones: undefined, checkContent: () => undefined };
  }

  /**
   * Opens a live shard with the records of its symbols, without their names: undefined if it has none yet, or if they are
   * damaged. They are kept for other readers of the same shard: records contain nothing of its bytes.
   */
  openWithRecords(
    snapshot: ShardSnapshot,
    table: ShardTable,
    row: number,
    filter: SharedArrayBuffer,
  ): OpenShard & { readonly symbols: SymbolReader | undefined } {
    const id = table.shardId(row);
    const { faultCount } = this;
    if (faultCount !== this.#recordFaultCount) this.#records = newRecords();
    this.#recordFaultCount = faultCount;
    const checksum = table.symbols(row);
    const last = this.#records.get(id)?.symbols;
    const known = last?.checksum === checksum ? last : undefined;
    // Read before the shard, because the next read may overwrite the bytes of a small shard.
    const value = known === undefined && checksum !== undefined ? snapshot.symbols(id) : undefined;
    const shard = this.open(snapshot, table, row, filter);
    const read = value === undefined ? known : makeReader(shard.reader, value);
    const symbols = read?.checksum === checksum ? read : undefined;
    if (symbols !== undefined && value !== undefined) this.#records.set(id, { symbols, byteCount: value.length });
    return { ...shard, symbols };
  }

  /** The symbols of a shard of the revision cache; undefined if they are not known. */
  openCachedSymbols(range: CachedShardRange): OpenShard | undefined {
    if (range.symbols === undefined) return undefined;
    const { id, from, to } = range.symbols;
    const shard = this.openCached(range);
    const value = Buffer.from(this.#arena, from, to - from);
    const view = this.#views.get(id)?.view ?? makeView(shard.reader, value);
    if (view === undefined) return undefined;
    this.#views.set(id, { view, value });
    return { ...shard, reader: view };
  }

  /** Throws `corrupt-shard` when the store has had a fault since `faultCount` was read. */
  requireNoFault(faultCount: number, shardId: number): void {
    if (this.faultCount !== faultCount) throw lostPart(shardId);
  }

  /**
   * Verifies a checksum when the shard is first used in the life of the process, and again after a fault of the store;
   * whichever worker comes first does it.
   */
  #verifyOnce(reader: ShardReader, table: ShardTable, row: number, part: ShardPart): void {
    const { faultCount } = this;
    if (table.isVerified(row, part, faultCount)) return;
    reader.verify(part);
    this.requireNoFault(faultCount, reader.id);
    table.setVerified(row, part, faultCount);
  }
}

/** Symbols that a thread keeps: their values are 5 % of the text that they are in. */
const viewBytesMax = 192 * 1024 * 1024;

/** Names are copied from the text only where they are candidates: usually, less than this share of them. */
const copiedShare = 1 / 4;

/** Records are 2 % of the text that they are of. A search that ranks results adds a table of their names. */
const recordBytesMax = 256 * 1024 * 1024;
const bytesPerName = 8;

interface KnownView {
  readonly view: SymbolView;
  readonly value: Buffer;
}

function newViews(): BoundedMap<number, KnownView> {
  return new BoundedMap(viewBytesMax, ({ view, value }) => view.content.length * copiedShare + value.length);
}

interface KnownRecords {
  readonly symbols: SymbolReader;
  readonly byteCount: number;
}

function newRecords(): BoundedMap<number, KnownRecords> {
  return new BoundedMap(recordBytesMax, ({ symbols, byteCount }) => byteCount + bytesPerName * symbols.symbolCount);
}

function makeView(reader: ShardReader, bytes: Buffer): SymbolView | undefined {
  const symbols = makeReader(reader, bytes);
  return symbols === undefined ? undefined : new SymbolView(reader, symbols);
}

function makeReader(reader: ShardReader, bytes: Buffer): SymbolReader | undefined {
  try {
    return new SymbolReader(reader, bytes);
  } catch (error) {
    if (error instanceof TrawlError && error.code !== "internal") return undefined;
    throw error;
  }
}

/** The error of a shard that was read while the store had a fault. */
export function lostPart(shardId: number): TrawlError {
  return new TrawlError("corrupt-shard", `shard ${shardId} was read while part of the shard store could not be read`);
}

function fillColumnOnce(reader: ShardReader, column: number, filter: ShardFilter): void {
  if (column === noColumn || filter.isKnown(column)) return;
  filter.fill(column, columnText(reader));
}
