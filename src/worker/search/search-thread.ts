import { TrawlError } from "../../base/errors.js";
import type { Kernel } from "../../native/kernel/kernel.js";
import { pressureWords } from "../../protocol/control-block.js";
import { type Lane, spareBuffersMax } from "../../protocol/messages.js";
import type { ShardOpener } from "./shard-opener.js";
import { MessageChannel, type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import { uninitializedBytes } from "../../base/bytes.js";
import { batchBufferBytes } from "../../eval/results/result-writer.js";
import { BoundedMap } from "../../base/bounded-map.js";
import { HistoryReader } from "../../history/history-reader.js";
import { historyParts, type StoredHistory } from "../../protocol/history-messages.js";
import type { ShardSnapshot } from "../../store/shard-store.js";

/** What the slices of one thread share. */
export interface SearchThread {
  readonly kernel: Kernel;
  readonly shards: ShardOpener;
  readonly histories: HistoryOpener;
  readonly buffers: BatchBuffers;
  /** The numbers of slices that wait for a worker, at `pressureWords`. */
  readonly pressure: Int32Array;
}

/** A slice yields to waiting ones after this long. */
const sliceMs = { interactive: 8, exhaustive: 2 } as const;

/** Whether a slice that began at `startedMs` must yield to others that wait. */
export function isOverdue({ pressure }: SearchThread, startedMs: number, lane: Lane): boolean {
  return Atomics.load(pressure, pressureWords.all) > 0 && performance.now() - startedMs > sliceMs[lane];
}

/**
 * Whether a slice that is alone may ask for others: only if there are shards that no slice has taken. An interactive slice
 * does not ask while interactive searches wait: it would stay alone (`mustStayAlone`), and the message costs both threads
 * more than examining a few contents.
 */
export function mayAskForHelp(
  { pressure }: SearchThread,
  { lane, rows }: { readonly lane: Lane; readonly rows: Uint32Array },
  takenShardCount: number,
): boolean {
  if (takenShardCount >= rows.length) return false;
  return lane !== "interactive" || Atomics.load(pressure, pressureWords.interactive) === 0;
}

/** Whether an error means that the search was stopped, which is not a failure of the shard. */
export function isCancelled(error: unknown): boolean {
  return error instanceof TrawlError && error.code === "cancelled";
}

/**
 * The buffers into which one worker writes batches. A full buffer is transferred to the main thread, and returned when
 * the socket has accepted its bytes. If buffers were allocated for each batch, the system would have to zero their
 * pages, and V8 would treat their bytes as pressure on the main thread's heap and collect it repeatedly.
 */
export class BatchBuffers {
  /** The port on which the main thread returns buffers. */
  readonly returnPort: MessagePort;
  /** Number of buffers returned so far. */
  takenBackCount = 0;
  readonly #port: MessagePort;
  readonly #spare: Buffer[] = [];

  constructor() {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    this.returnPort = port2;
  }

  take(): Buffer {
    this.takeBack();
    return this.#spare.pop() ?? uninitializedBytes(batchBufferBytes);
  }

  /** Receives returned buffers, and frees excess ones. */
  takeBack(): void {
    for (;;) {
      const received = receiveMessageOnPort(this.#port) as { message: ArrayBuffer } | undefined;
      if (received === undefined) return;
      this.takenBackCount++;
      this.put(Buffer.from(received.message));
    }
  }

  put(buffer: Buffer): void {
    if (this.#spare.length < spareBuffersMax && buffer.length === batchBufferBytes) this.#spare.push(buffer);
  }
}

/** Maximum number of readers that a thread keeps; each consists of some kilobytes of views. */
const readerCountMax = 1024;

/** Opens and verifies the history shards of the store that one thread searches. */
export class HistoryOpener {
  #readers = newReaders();
  #faultCount = 0;

  /**
   * The reader is valid until the next read of the snapshot. A part of a shard is verified when it is first used in the
   * life of the process, and again after a fault of the store. Throws `corrupt-shard` when the shard is missing or damaged.
   */
  open(
    snapshot: ShardSnapshot,
    { id, checksum, verified }: StoredHistory,
    parts: readonly (keyof typeof historyParts)[],
    store: Pick<ShardOpener, "faultCount" | "requireNoFault">,
  ): HistoryReader {
    const bytes = snapshot.get(id);
    if (bytes === undefined)
      throw new TrawlError("corrupt-shard", `history shard ${id} is missing from the store; it will be built again`);
    const { faultCount } = store;
    const reader = this.#read(id, bytes, faultCount);
    reader.requireChecksum(checksum);
    for (const part of parts) {
      const word = historyParts[part];
      if (Atomics.load(verified, word) === faultCount + 1) continue;
      reader.verify(part);
      store.requireNoFault(faultCount, id);
      Atomics.store(verified, word, faultCount + 1);
    }
    return reader;
  }

  /** Sound for the reason that `ReaderCache` gives. */
  #read(id: number, bytes: Buffer, faultCount: number): HistoryReader {
    if (faultCount !== this.#faultCount) this.#readers = newReaders();
    this.#faultCount = faultCount;
    const known = this.#readers.get(id);
    if (known !== undefined && known.bytes.buffer === bytes.buffer && known.bytes.byteOffset === bytes.byteOffset)
      return known.reader;
    const reader = new HistoryReader(id, bytes);
    this.#readers.set(id, { bytes, reader });
    return reader;
  }
}

function newReaders(): BoundedMap<number, { readonly bytes: Uint8Array; readonly reader: HistoryReader }> {
  return new BoundedMap(readerCountMax, () => 1);
}

/**
 * A slice that is alone requests others when it has found more candidates than this, or has taken longer than this. To
 * wake another thread takes 0.1 ms of processor time on each side, in which a thread examines 20 shards or 50 contents.
 */
export const aloneContentsMax = 32;
export const aloneMs = 1;

/**
 * A thread that ranks words alone requests others when it expects to read more than this of the shards that are left, judged
 * by those that it has ranked: about 4 ms of work. Each of the others takes about 2 ms of processor time to be
 * woken, to prepare the search and to pass on what it finds, and with less to share the search ends later.
 */
export const aloneBytesMax = 16 * 1024 * 1024;

/** To decode and to score a candidate takes as long as reading so many bytes of text. */
export const bytesPerCandidate = 2048;

/** And it requests others after this long, whatever it expects. */
export const aloneWordsMs = 8;
