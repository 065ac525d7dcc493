import type { FileHandle } from "node:fs/promises";
import { Readable } from "node:stream";
import { constants, createGzip } from "node:zlib";
import { callEvery } from "../../base/deadline.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import { blockBytesMax, type ByteStream } from "../server/byte-stream.js";

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
  await sendBlocks(readBlocks(part, blockBytesMax), stream, stallMs);
}

/** Like `sendFile`, compressed with gzip while it is sent. */
export async function sendGzip(part: FilePart, stream: ByteStream, stallMs: number): Promise<void> {
  const gzip = createGzip({ level: constants.Z_BEST_SPEED, chunkSize: blockBytesMax });
  const source = Readable.from(readBlocks(part, gzipInputBytes), { objectMode: false, highWaterMark: gzipInputBytes });
  source.on("error", (error) => gzip.destroy(error));
  source.pipe(gzip);
  try {
    await sendBlocks(gzip as AsyncIterable<Uint8Array>, stream, stallMs);
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

async function sendBlocks(blocks: AsyncIterable<Uint8Array>, stream: ByteStream, stallMs: number): Promise<void> {
  let resume: () => void = () => undefined;
  let hasProgress = true;
  const watch = callEvery(stallMs, () => {
    if (!hasProgress) stream.cut();
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
      const hasRoom = stream.write(block);
      hasProgress = true;
      if (!hasRoom && !stream.closed) await writable;
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
