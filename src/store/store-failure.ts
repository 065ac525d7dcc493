import { errorMessage, TrawlError } from "../base/errors.js";

/** LMDB's word for an environment whose meta page could not be written. */
const panic = "MDB_PANIC";

/** The same, and the system's words for a disk that fails. */
const lossOf = /\bMDB_PANIC\b|\bEIO\b|Input\/output error/;

/**
 * The error of a write that failed: `store-lost` where what the disk has is unknown. LMDB refuses all further
 * transactions then, reads too; and after a sync that failed the system may have dropped what it was to write, so that
 * trying again proves nothing. Otherwise it is `storage`, nothing has changed, and the next write may succeed.
 *
 * Of a meta page that could not be written LMDB says at first only what the system said, such as that the disk is full:
 * `read` begins a read, which then fails.
 */
export function writeFailure(what: string, cause: unknown, read: () => void): TrawlError {
  const message = `${what}: ${errorMessage(cause)}`;
  const isLost = lossOf.test(message) || (findRefusal(read) ?? "").includes(panic);
  return new TrawlError(isLost ? "store-lost" : "storage", message, { cause });
}

/** The error of a read that could not begin. */
export function readFailure(what: string, cause: unknown): TrawlError {
  const message = `${what}: ${errorMessage(cause)}`;
  return new TrawlError(message.includes(panic) ? "store-lost" : "storage", message, { cause });
}

function findRefusal(read: () => void): string | undefined {
  try {
    read();
    return undefined;
  } catch (error) {
    return errorMessage(error);
  }
}
