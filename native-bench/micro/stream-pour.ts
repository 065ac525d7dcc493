import { constants, createGzip } from "node:zlib";
import { blockBytesMax } from "../../src/http/uws.js";

/** What is written, piece by piece. */
export interface Pieces {
  readonly count: number;
  readonly at: (i: number) => Buffer | string;
}

/** Where bytes go. After `write` has said false it is called again only when `onWritable` has called back. */
export interface Outlet {
  readonly write: (bytes: Uint8Array | string) => boolean;
  readonly onWritable: (callback: () => void) => void;
  readonly end: () => void;
}

/** Writes the pieces as far as the outlet takes them. */
export function pour(pieces: Pieces, gzip: boolean, outlet: Outlet): void {
  if (gzip) pourGzip(pieces, outlet);
  else pourPlain(pieces, outlet);
}

function pourPlain({ count, at }: Pieces, outlet: Outlet): void {
  let sent = 0;
  const more = (): void => {
    while (sent < count) if (!outlet.write(at(sent++))) return;
    if (sent++ === count) outlet.end();
  };
  outlet.onWritable(more);
  more();
}

/** The same window, level and amount under way as our event streams have, so that the ways differ in writing only. */
const gzipOptions = {
  level: constants.Z_BEST_SPEED,
  windowBits: 13,
  memLevel: 6,
  chunkSize: blockBytesMax,
  highWaterMark: 512 * 1024,
};

/** Flushed whenever as much is under way as may be, so that the client can read all of it. */
function pourGzip({ count, at }: Pieces, outlet: Outlet): void {
  const gzip = createGzip(gzipOptions);
  gzip.on("data", (bytes: Uint8Array) => {
    if (!outlet.write(bytes)) gzip.pause();
  });
  gzip.on("end", () => outlet.end());
  outlet.onWritable(() => gzip.resume());
  let sent = 0;
  const more = (): void => {
    while (sent < count && !gzip.writableNeedDrain) gzip.write(at(sent++));
    if (sent < count) gzip.flush(constants.Z_SYNC_FLUSH);
    else if (sent++ === count) gzip.end();
  };
  gzip.on("drain", more);
  more();
}
