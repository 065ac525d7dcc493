import { BoundedMap } from "../../base/bounded-map.js";
import { TrawlError } from "../../base/errors.js";
import { columnText } from "../../eval/match/path-match.js";
import type { CachedShardRange, SearchTask } from "../../protocol/messages.js";
import { type FilterMemory, noColumn, ShardFilter } from "../../protocol/shard-filter.js";
import type { ShardPart, ShardTable } from "../../protocol/shard-table.js";
import { ReaderCache, ShardReader } from "../../shard/shard-reader.js";
import { storedChecksum, SymbolReader } from "../../shard/symbols/symbol-reader.js";
import { SymbolView } from "../../shard/symbols/symbol-view.js";
import { isMapped, type ShardSnapshot, type ShardStore } from "../../store/shard-store.js";

/** A shard that is ready to be searched. */
export interface OpenShard {
  readonly reader: ShardReader;
  readonly summaries: Uint8Array;
  readonly tombstones: Uint32Array | undefined;
  /** Throws `corrupt-shard` when the content is damaged. */
  readonly checkContent: () => void;
  /** Whether the bytes are valid until the snapshot is closed, not only until its next read. */
  readonly isInPlace: boolean;
}

/** With the records of its symbols; undefined if it has none yet, or if they are damaged. */
export interface OpenTexts extends OpenShard {
  readonly symbols: SymbolReader | undefined;
}

/** Copies each property, which is done for each shard of each search: V8 defines those after a spread in a slow way. */
function withSymbols(
  { reader, summaries, tombstones, checkContent, isInPlace }: OpenShard,
  symbols: SymbolReader | undefined,
): OpenTexts {
  return { reader, summaries, tombstones, checkContent, isInPlace, symbols };
}

/** Opens and verifies the shards that one thread searches. */
export class ShardOpener {
  readonly #store: ShardStore;
  /** The memory of the revision cache. */
  readonly #arena: SharedArrayBuffer;
  readonly #readers = new ReaderCache();
  /** By shard, or by value in the revision cache, whose ids differ from those of shards. */
  readonly #symbols = new BoundedMap<number, OpenedSymbols>(symbolBytesMax, weighSymbols);
  #symbolFaultCount = 0;
  /** Shards that are so small that LMDB copies them, as far as this thread has opened them. */
  readonly #copied = new BoundedMap<number, true>(copiedCountMax, () => 1);

  constructor(store: ShardStore, arena: SharedArrayBuffer) {
    this.#store = store;
    this.#arena = arena;
  }

  /** How often the store could not read a page. Bytes that were read meanwhile may be zeros. */
  get faultCount(): number {
    return this.#store.guard.faultCount;
  }

  /** Opens the live shard of a row of the table. Throws `corrupt-shard` when it is missing or damaged. */
  open(snapshot: ShardSnapshot, table: ShardTable, row: number, filter: FilterMemory): OpenShard {
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
    const isInPlace = isMapped(bytes);
    if (!isInPlace) this.#copied.set(id, true);
    return {
      reader,
      summaries: table.repositorySummaries(row),
      tombstones: table.tombstones(row),
      checkContent: () => this.#verifyOnce(reader, table, row, "content"),
      isInPlace,
    };
  }

  /**
   * Whether the shard can be opened and stay open: it and its symbols need not be verified any more, and its bytes are not
   * known to be copied.
   */
  isReady(table: ShardTable, row: number): boolean {
    if (this.#copied.get(table.shardId(row)) === true) return false;
    const { faultCount } = this;
    const isDone = (part: ShardPart): boolean => table.isVerified(row, part, faultCount);
    return isDone("index") && isDone("content") && (table.symbols(row) === undefined || isDone("symbols"));
  }

  /** The symbols of a live shard; undefined if it has none yet, or if they are damaged. */
  openSymbols(snapshot: ShardSnapshot, table: ShardTable, row: number, filter: FilterMemory): OpenShard | undefined {
    const texts = this.openWithRecords(snapshot, table, row, filter);
    const { symbols, summaries, tombstones, checkContent, isInPlace } = texts;
    if (symbols === undefined) return undefined;
    const id = table.shardId(row);
    const opened = this.#symbols.get(id);
    const reader = opened?.symbols === symbols ? this.#view(id, opened) : new SymbolView(texts.reader, symbols);
    return { reader, summaries, tombstones, checkContent, isInPlace };
  }

  /** Opens a shard of the revision cache. It was built by this process and never left memory, so it is not verified. */
  openCached({ id, from, to, summaries }: CachedShardRange): OpenShard {
    const reader = new ShardReader(id, new Uint8Array(this.#arena, from, to - from));
    return { reader, summaries, tombstones: undefined, checkContent: () => undefined, isInPlace: true };
  }

  /** Opens a live shard with the records of its symbols, without their names. All threads read them in place. */
  openWithRecords(snapshot: ShardSnapshot, table: ShardTable, row: number, filter: FilterMemory): OpenTexts {
    const id = table.shardId(row);
    const checksum = table.symbols(row);
    const { faultCount } = this;
    if (faultCount !== this.#symbolFaultCount) this.#symbols.clear();
    this.#symbolFaultCount = faultCount;
    const last = this.#symbols.get(id);
    const known = checksum !== undefined && last?.symbols.checksum === checksum ? last : undefined;
    // Read before the shard, because the next read may overwrite the bytes of a small shard.
    const stored = checksum === undefined || known?.isCopy === true ? known : snapshot.symbolsInPlace(id);
    const shard = this.open(snapshot, table, row, filter);
    if (checksum === undefined || stored === undefined) return withSymbols(shard, undefined);
    if (known?.text === shard.reader && isSamePlace(known.bytes, stored.bytes, checksum))
      return withSymbols(shard, known.symbols);
    const isVerified = table.isVerified(row, "symbols", faultCount);
    const symbols = makeReader(shard.reader, stored.bytes, isVerified);
    if (symbols?.checksum !== checksum) return withSymbols(shard, undefined);
    this.requireNoFault(faultCount, id);
    if (!isVerified) table.setVerified(row, "symbols", faultCount);
    this.#symbols.set(id, { bytes: stored.bytes, isCopy: stored.isCopy, text: shard.reader, symbols, view: undefined });
    return withSymbols(shard, symbols);
  }

  /** The symbols of a shard of the revision cache; undefined if they are not known. */
  openCachedSymbols(range: CachedShardRange): OpenShard | undefined {
    if (range.symbols === undefined) return undefined;
    const { id, from, to } = range.symbols;
    const shard = this.openCached(range);
    const view = this.#symbols.get(id)?.view;
    if (view !== undefined) return { ...shard, reader: view };
    const bytes = Buffer.from(this.#arena, from, to - from);
    const symbols = makeReader(shard.reader, bytes, false);
    if (symbols === undefined) return undefined;
    return { ...shard, reader: this.#view(id, { bytes, isCopy: false, text: shard.reader, symbols, view: undefined }) };
  }

  /** The names of these symbols as a shard, which is kept. */
  #view(id: number, opened: OpenedSymbols): SymbolView {
    if (opened.view !== undefined) return opened.view;
    const view = new SymbolView(opened.text, opened.symbols);
    this.#symbols.set(id, { ...opened, view });
    return view;
  }

  /** Throws `corrupt-shard` when the store has had a fault since `faultCount` was read. */
  requireNoFault(faultCount: number, shardId: number): void {
    if (this.faultCount !== faultCount) throw lostPart(shardId);
  }

  /**
   * Verifies a checksum when the shard is first used in the life of the process, and again after a fault of the store;
   * whichever worker comes first does it.
   */
  #verifyOnce(reader: ShardReader, table: ShardTable, row: number, part: Exclude<ShardPart, "symbols">): void {
    const { faultCount } = this;
    if (table.isVerified(row, part, faultCount)) return;
    reader.verify(part);
    this.requireNoFault(faultCount, reader.id);
    table.setVerified(row, part, faultCount);
  }
}

/** Readers are kept elsewhere as well, for so many shards: a task must not hold those of more. */
const keptShardsMax = 1024;

/**
 * The shards of one task and its snapshot. Each that is in place is opened once, because a task that ranks also writes and
 * counts what it has found.
 */
export class TaskShards {
  readonly #opener: ShardOpener;
  readonly #snapshot: ShardSnapshot;
  readonly #table: ShardTable;
  readonly #task: Pick<SearchTask, "filter" | "cached">;
  /** By row. */
  readonly #texts = new BoundedMap<number, OpenShard>(keptShardsMax, () => 1);
  readonly #withRecords = new BoundedMap<number, OpenTexts>(keptShardsMax, () => 1);
  #faultCount: number;

  constructor(
    opener: ShardOpener,
    snapshot: ShardSnapshot,
    table: ShardTable,
    task: Pick<SearchTask, "filter" | "cached">,
  ) {
    this.#opener = opener;
    this.#snapshot = snapshot;
    this.#table = table;
    this.#task = task;
    this.#faultCount = opener.faultCount;
  }

  /** Rows past those of the table are shards of the revision cache. */
  isLive(row: number): boolean {
    return row < this.#table.count;
  }

  shardId(row: number): number {
    return this.isLive(row) ? this.#table.shardId(row) : this.#cached(row).id;
  }

  /** Whether nothing of the shard has to be verified when it is opened, and it may then stay open. */
  isReady(row: number): boolean {
    return !this.isLive(row) || this.#opener.isReady(this.#table, row);
  }

  /** Throws `corrupt-shard` when the shard is missing or damaged. */
  open(row: number): OpenShard {
    this.#dropUntrusted();
    const known = this.#texts.get(row);
    if (known !== undefined) return known;
    const opened = this.isLive(row)
      ? this.#opener.open(this.#snapshot, this.#table, row, this.#task.filter)
      : this.#opener.openCached(this.#cached(row));
    if (opened.isInPlace) this.#texts.set(row, opened);
    return opened;
  }

  /** Like `open`, with the records of symbols, which shards of the revision cache do not have. */
  openWithRecords(row: number): OpenTexts {
    this.#dropUntrusted();
    const known = this.#withRecords.get(row);
    if (known !== undefined) return known;
    const opened = this.isLive(row)
      ? this.#opener.openWithRecords(this.#snapshot, this.#table, row, this.#task.filter)
      : withSymbols(this.#opener.openCached(this.#cached(row)), undefined);
    if (opened.isInPlace) {
      this.#texts.set(row, opened);
      this.#withRecords.set(row, opened);
    }
    return opened;
  }

  /** The symbols of the shard as its text; undefined if they are not known. */
  openSymbols(row: number): OpenShard | undefined {
    return this.isLive(row)
      ? this.#opener.openSymbols(this.#snapshot, this.#table, row, this.#task.filter)
      : this.#opener.openCachedSymbols(this.#cached(row));
  }

  #cached(row: number): CachedShardRange {
    return this.#task.cached[row - this.#table.count];
  }

  /** After a fault of the store, bytes may be zeros: they are verified again. */
  #dropUntrusted(): void {
    if (this.#opener.faultCount === this.#faultCount) return;
    this.#faultCount = this.#opener.faultCount;
    this.#texts.clear();
    this.#withRecords.clear();
  }
}

/**
 * Memory of a thread for symbols. Values are read where they are in the store, so it holds what is derived from them: for
 * the names that searches for symbols have read, a fiftieth of the text that they are in; less for ranking texts.
 */
const symbolBytesMax = 128 * 1024 * 1024;

/** Names are copied from the text only where they are candidates: usually, less than this share of them. */
const copiedShare = 1 / 4;

/** Of the tables of a reader: three words for each part, and their objects. */
const bytesPerPart = 12;
const readerBytes = 4096;

/** How many small shards are remembered. Others are opened once more than necessary. */
const copiedCountMax = 4096;

/** The symbols of a shard that a thread has opened. */
interface OpenedSymbols {
  readonly bytes: Buffer;
  /** Whether the thread has its own copy of the bytes, because they are few. */
  readonly isCopy: boolean;
  readonly text: ShardReader;
  readonly symbols: SymbolReader;
  /** Undefined if names were not searched yet. */
  readonly view: SymbolView | undefined;
}

function weighSymbols({ bytes, isCopy, symbols, view }: OpenedSymbols): number {
  const own = readerBytes + bytesPerPart * symbols.parts.count + (isCopy ? bytes.length : 0);
  return view === undefined ? own : own + view.content.length * copiedShare;
}

/**
 * Whether bytes that were read earlier are still this value. The place of a value that was replaced may be used again, so
 * its checksum has to be there too.
 */
function isSamePlace(former: Buffer, bytes: Buffer, checksum: number): boolean {
  return (
    former.buffer === bytes.buffer &&
    former.byteOffset === bytes.byteOffset &&
    former.length === bytes.length &&
    storedChecksum(bytes) === checksum
  );
}

function makeReader(reader: ShardReader, bytes: Buffer, isVerified: boolean): SymbolReader | undefined {
  try {
    return new SymbolReader(reader, bytes, isVerified);
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
