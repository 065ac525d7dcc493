/**
 * The table of all errors, in the process and of answers over HTTP. Each has a code (stable, for programs), a log level and, where applicable, an HTTP status
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
  /** The request has no valid credential. */
  unauthenticated: { level: "info", httpStatus: 401 },
  /** The caller may not do this. */
  forbidden: { level: "info", httpStatus: 403 },
  /** No such repository, shard, revision or route. */
  "not-found": { level: "info", httpStatus: 404 },
  /** The route has no such method. */
  "method-not-allowed": { level: "info", httpStatus: 405 },
  /** The body did not arrive in time. */
  "request-timeout": { level: "info", httpStatus: 408 },
  /** The object already exists or is in use. */
  conflict: { level: "info", httpStatus: 409 },
  /** What was asked for existed, and does not any more. */
  gone: { level: "info", httpStatus: 410 },
  /** The body is longer than the route accepts. */
  "content-too-large": { level: "info", httpStatus: 413 },
  /** The path is longer than any that names something. */
  "uri-too-long": { level: "info", httpStatus: 414 },
  /** The route does not read bodies of this type. */
  "unsupported-media-type": { level: "info", httpStatus: 415 },
  /** The range that was asked for is beyond the end. */
  "range-not-satisfiable": { level: "info", httpStatus: 416 },
  /** The request is for a host that this server is not. */
  misdirected: { level: "info", httpStatus: 421 },
  /** Too many wrong passwords. */
  "locked-out": { level: "info", httpStatus: 422 },
  /** The client has used up its share of the machine. */
  "too-many-requests": { level: "info", httpStatus: 429 },
  /** The headers are longer than those of any client. */
  "headers-too-large": { level: "info", httpStatus: 431 },
  /** The interface has such a request, but Trawl does not answer it. */
  "not-implemented": { level: "info", httpStatus: 501 },
  /** The answer is a stream, which needs HTTP/1.1. */
  "http-version-not-supported": { level: "info", httpStatus: 505 },
  /** There is no room for the answer on the disk. */
  "insufficient-storage": { level: "warn", httpStatus: 507 },
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

/** The code of an answer of which only the status is known. */
const statusCodes: ReadonlyMap<number, ErrorCode> = new Map<number, ErrorCode>([
  // Several codes have the same status: the most general comes last, and counts.
  ...Object.entries(errorTable).map(([code, { httpStatus }]) => [httpStatus, code as ErrorCode] as const),
  [400, "bad-request"],
  [500, "internal"],
  [503, "overloaded"],
]);

/** The code for a status from 400; `bad-request` or `internal` if the table has none. */
export function codeForStatus(status: number): ErrorCode {
  return statusCodes.get(status) ?? (status < 500 ? "bad-request" : "internal");
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
