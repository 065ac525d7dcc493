import { open } from "node:fs/promises";
import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import { errorMessage, TrawlError } from "../../base/errors.js";

const chunkBytes = 64 << 10;

/**
 * The bytes of the files of an upload, one after another, decompressed if they are gzip. The files are closed when it ends, also if
 * its user wants no more. `onChunk` is called before each chunk, and may throw.
 */
export async function* uploadBytes(
  files: readonly string[],
  bytesMax: number,
  onChunk: () => void,
): AsyncGenerator<Uint8Array> {
  let byteCount = 0;
  for await (const chunk of inflated(files)) {
    byteCount += chunk.length;
    if (byteCount > bytesMax)
      throw new TrawlError(
        "content-too-large",
        `the index has more than ${bytesMax} bytes when it is decompressed (precise.indexBytes); index a part of the repository at a time, with a root for each`,
      );
    onChunk();
    yield chunk;
  }
}

async function* inflated(files: readonly string[]): AsyncGenerator<Uint8Array> {
  const stored = concatenated(files);
  try {
    // The first part of an upload may have a single byte.
    let start = Buffer.alloc(0);
    while (start.length < 2) {
      const next = await stored.next();
      if (next.done === true) break;
      start = Buffer.concat([start, next.value]);
    }
    if (start[0] === 0x7b)
      throw new TrawlError(
        "bad-request",
        "this is an index in the LSIF format, which is not accepted; use an indexer that writes SCIP, or convert it with `scip convert`",
      );
    const whole = joined(start, stored);
    if (start[0] === 0x1f && start[1] === 0x8b) yield* gunzipped(whole);
    else yield* whole;
  } finally {
    // Nothing else does if `whole` was left at its first chunk.
    await stored.return(undefined);
  }
}

async function* joined(start: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield start;
  yield* rest;
}

async function* gunzipped(compressed: AsyncIterable<Buffer>): AsyncGenerator<Uint8Array> {
  const gunzip = createGunzip();
  let failure: Error | undefined;
  pipeline(compressed, gunzip, (error) => (failure = error ?? undefined));
  try {
    yield* gunzip as AsyncIterable<Buffer>;
  } catch (error) {
    throw new TrawlError("bad-request", `the upload is not valid gzip: ${errorMessage(failure ?? error)}`, {
      cause: error,
    });
  }
}

/** A file is closed before what ends the iteration is done, which a stream of it does not promise. */
async function* concatenated(paths: readonly string[]): AsyncGenerator<Buffer, void, undefined> {
  for (const path of paths) {
    const file = await open(path);
    try {
      for (;;) {
        const { buffer, bytesRead } = await file.read(Buffer.alloc(chunkBytes), 0, chunkBytes);
        if (bytesRead === 0) break;
        yield buffer.subarray(0, bytesRead);
      }
    } finally {
      await file.close();
    }
  }
}
