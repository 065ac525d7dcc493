import type { FileHandle } from "node:fs/promises";
import { Readable } from "node:stream";
import { constants, createGzip } from "node:zlib";
import { callEvery, monotonicMs } from "../../base/deadline.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import { blockBytesMax, type ByteStream } from "../server/byte-stream.js";
import { type ReadingLimits, ReadingPace } from "../stream/child-output.js";

/** A part of a file, to be sent. `to` is the offset after the last byte. */
export interface FilePart {
  readonly file: FileHandle;
  readonly from: number;
  readonly to: number;
}

/** Read at once for the compressor, which works on threads of its own. */
const gzipInputBytes = 128 * 1024;

/** Sends a block when the socket has room for it. A client that reads nothing for `stallMs` is disconnected. */
export async function sendFile(part: FilePart, stream: ByteStream, stallMs: number): Promise<void> {
  await sendBlocks(readBlocks(part, blockBytesMax), stream, { stallMs, isContended: () => false });
}

/** Sends bytes like `sendFile`: a client that does not read them holds no copy of them in the socket. */
export async function sendBytes(bytes: Uint8Array, stream: ByteStream, limits: ReadingLimits): Promise<void> {
  await sendBlocks(splitBytes(bytes), stream, limits);
}

async function* splitBytes(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += blockBytesMax) yield bytes.subarray(at, at + blockBytesMax);
}

/** Like `sendFile`, compressed with gzip while it is sent. */
export async function sendGzip(part: FilePart, stream: ByteStream, stallMs: number): Promise<void> {
  const gzip = createGzip({ level: constants.Z_BEST_SPEED, chunkSize: blockBytesMax });
  const source = Readable.from(readBlocks(part, gzipInputBytes), { objectMode: false, highWaterMark: gzipInputBytes });
  source.on("error", (error) => gzip.destroy(error));
  source.pipe(gzip);
  try {
    await sendBlocks(gzip as AsyncIterable<Uint8Array>, stream, { stallMs, isContended: () => false });
  } finally {
    source.destroy();
    gzip.destroy();
  }
}

async function* readBlocks({ file, from, to }: FilePart, blockBytes: number): AsyncGenerator<Uint8Array> {
  for (let at = from; at < to; ) {
    const block = new Uint8Array(Math.min(blockBytes, to - at));
    const { bytesRead } = await file.read(block, 0, block.length, at);
    if (bytesRead === 0) throw new TrawlError("storage", "the file is shorter than it was");
    at += bytesRead;
    yield block.subarray(0, bytesRead);
  }
}

async function sendBlocks(
  blocks: AsyncIterable<Uint8Array>,
  stream: ByteStream,
  { stallMs, isContended }: ReadingLimits,
): Promise<void> {
  let resume: () => void = () => undefined;
  let hasProgress = true;
  let isFull = false;
  const pace = new ReadingPace(stallMs, monotonicMs());
  const watch = callEvery(stallMs, () => {
    const isSlow = pace.isTooSlow(monotonicMs(), isFull) && isContended();
    if (!hasProgress || isSlow) stream.cut();
    hasProgress = false;
  });
  stream.onWritable(() => resume());
  stream.onClosed(() => resume());
  try {
    for await (const block of blocks) {
      if (stream.closed) return;
      const writable = new Promise<void>((resolve) => {
        resume = resolve;
      });
      isFull = !stream.write(block);
      pace.recordTaken(block.length);
      hasProgress = true;
      if (isFull && !stream.closed) await writable;
      isFull = false;
      hasProgress = true;
    }
    stream.end();
  } catch (error) {
    stream.cut();
    throw new TrawlError("storage", `a file could not be sent completely: ${errorMessage(error)}`, { cause: error });
  } finally {
    watch.cancel();
  }
}
