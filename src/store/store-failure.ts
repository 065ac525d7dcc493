import { errorMessage, TrawlError } from "../base/errors.js";

/** LMDB's error for an environment whose meta page could not be written. */
const panic = "MDB_PANIC";

/** That error, and the system's errors for a failing disk. */
const lossOf = /\bMDB_PANIC\b|\bEIO\b|Input\/output error/;

/**
 * The error of a failed write: `store-lost` if the durable state is unknown. LMDB then rejects all further
 * transactions, including reads; and after a failed sync the system may have discarded the data to be written, so that
 * a retry proves nothing. Otherwise it is `storage`, nothing has changed, and the next write may succeed.
 *
 * If a meta page could not be written, LMDB at first only reports the system's error, such as a full disk: `read`
 * starts a read, which then fails.
 */
export function writeFailure(what: string, cause: unknown, read: () => void): TrawlError {
  const message = `${what}: ${errorMessage(cause)}`;
  const isLost = lossOf.test(message) || (findRefusal(read) ?? "").includes(panic);
  return new TrawlError(isLost ? "store-lost" : "storage", message, { cause });
}

/** The error of a read that could not be started. */
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
