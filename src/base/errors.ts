/**
 * The table of all errors. Each has a code (stable, for programs), a log level and, where applicable, an HTTP status
 * and a process exit code. A message says what went wrong, where, and how to fix it.
 */
export const errorTable = {
  /** A bug in Trawl. */
  internal: { level: "error", httpStatus: 500 },
  /** The configuration file or a command-line option is unusable. */
  "bad-config": { level: "error", httpStatus: 400 },
  /** The caller's request is malformed. */
  "bad-request": { level: "info", httpStatus: 400 },
  /** The query text does not parse or validate. */
  "bad-query": { level: "info", httpStatus: 400 },
  /** The caller may not do this. */
  forbidden: { level: "info", httpStatus: 403 },
  /** No such repository, shard, revision or route. */
  "not-found": { level: "info", httpStatus: 404 },
  /** The object already exists or is in use. */
  conflict: { level: "info", httpStatus: 409 },
  /** What was asked for existed, and does not any more. */
  gone: { level: "info", httpStatus: 410 },
  /** The client has used up its share of the machine. */
  "too-many-requests": { level: "info", httpStatus: 429 },
  /** A limit on queued or concurrent work is reached; retry later. */
  overloaded: { level: "warn", httpStatus: 503 },
  /** The daemon is stopping. */
  "shutting-down": { level: "info", httpStatus: 503 },
  /** git failed, timed out or was refused. */
  git: { level: "warn", httpStatus: 502 },
  /** Not retried for now, because a thread hung or crashed on it. */
  quarantined: { level: "warn", httpStatus: 503 },
  /** A shard failed verification. */
  "corrupt-shard": { level: "error", httpStatus: 500 },
  /** Writing or syncing the store failed (disk full, read-only). */
  storage: { level: "error", httpStatus: 500 },
  /**
   * A write or a sync failed so that the contents of a store on disk are unknown: the daemon exits, and checks the
   * store at the next start.
   */
  "store-lost": { level: "error", httpStatus: 500 },
  /** The data directory has a format this program cannot read. */
  "format-version": { level: "error", httpStatus: 500 },
  /** Stopped by a stop flag, a deadline or a signal. */
  cancelled: { level: "info", httpStatus: 499 },
} as const;

export type ErrorCode = keyof typeof errorTable;
export type ErrorLevel = (typeof errorTable)[ErrorCode]["level"];

/** An error with a code from the table. `cause` is the underlying error. */
export class TrawlError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "TrawlError";
    this.code = code;
  }

  get level(): ErrorLevel {
    return errorTable[this.code].level;
  }

  get httpStatus(): number {
    return errorTable[this.code].httpStatus;
  }
}

/** An error as plain data, for sending it to another thread, where own properties of an Error are lost. */
export interface SerializedError {
  readonly code: ErrorCode;
  readonly message: string;
}

export function serializeError(error: unknown): SerializedError {
  if (error instanceof TrawlError) return { code: error.code, message: error.message };
  return { code: "internal", message: errorMessage(error) };
}

export function deserializeError(error: SerializedError): TrawlError {
  return new TrawlError(error.code, error.message);
}

/** The message of any thrown value. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
