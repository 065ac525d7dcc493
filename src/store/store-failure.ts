import { messageOf, TrawlError } from "../base/errors.js";

/** LMDB's word for an environment whose meta page could not be written, and the system's for a disk that fails. */
const lossOf = /\bMDB_PANIC\b|\bEIO\b|Input\/output error/;

/**
 * The error of a write that failed: `store-lost` where what the disk has is unknown. LMDB refuses all further transactions then, reads
 * too; and after a sync that failed the system may have dropped what it was to write, so that trying again proves nothing. Otherwise it
 * is `storage`, nothing has changed, and the next write may succeed.
 */
export function writeFailure(what: string, cause: unknown): TrawlError {
  const message = `${what}: ${messageOf(cause)}`;
  return new TrawlError(lossOf.test(message) ? "store-lost" : "storage", message, { cause });
}
